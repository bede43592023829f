import type { Audience } from '../domain/grants.js';
import type { LogCursor } from './log-cursor.js';
import type { LogEntry, LogName } from './log-entry.js';
import { payloadAt } from './log-entry.js';
import type { OutgoingPublish, Receiver } from './receiver.js';
import type { QoS, Subscriptions } from './subscriptions.js';

const MAX_MESSAGE_ID = 65_535;

/** A message beside the logs: telemetry at QoS 0, retained messages, the gateway's own status. */
export interface DirectMessage extends Audience {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: QoS;
  readonly retain: boolean;
}

export interface DestinationOptions {
  readonly cursors: Readonly<Record<LogName, LogCursor>>;
  readonly subscriptions: Subscriptions;
  /** Messages at QoS 1 that may await their acknowledgement at a time. */
  readonly maxInFlight: number;
  readonly now: () => number;
  /** Called when a cursor has moved, so that it is saved. */
  readonly onProgress: () => void;
  /** Called when the store cannot be read; the destination is woken again later. */
  readonly onReadFailure: (error: unknown) => void;
}

/**
 * One receiver of forwarded messages: subscriptions, a cursor in each log, and while it is connected
 * a window of messages that await their acknowledgement. Offline it costs nothing but its cursors.
 */
export class Destination {
  readonly subscriptions: Subscriptions;
  readonly #options: DestinationOptions;
  readonly #cursors: Readonly<Record<LogName, LogCursor>>;
  readonly #inFlight = new Map<number, () => void>();
  readonly #loading = new Set<LogCursor>();
  #direct: DirectMessage[] = [];
  /** Topics sent while retained messages are being fetched: those would be older. */
  #sentDuringFetch: Set<string> | undefined;
  #fetches = 0;
  #receiver: Receiver | undefined;
  #mayReceive: (audience: Audience) => boolean = () => false;
  #connectedAfter: Record<LogName, number> = { alarms: 0, messages: 0 };
  #lastMessageId = 0;

  constructor(options: DestinationOptions) {
    this.#options = options;
    this.#cursors = options.cursors;
    this.subscriptions = options.subscriptions;
  }

  get isConnected(): boolean {
    return this.#receiver !== undefined;
  }

  /** Everything up to here, in each log, need not be sent to this destination any more. */
  get settled(): Readonly<Record<LogName, number>> {
    return { alarms: this.#cursors.alarms.settled, messages: this.#cursors.messages.settled };
  }

  /**
   * From now on messages go to this connection, beginning with those it has not acknowledged.
   *
   * @param newest the newest entry of each log: older ones are a backlog
   */
  connect(
    receiver: Receiver,
    mayReceive: (audience: Audience) => boolean,
    newest: Readonly<Record<LogName, number>>,
  ): void {
    this.#receiver = receiver;
    this.#mayReceive = mayReceive;
    this.#connectedAfter = { ...newest };
    this.wake();
  }

  /** The connection is gone: what it has not acknowledged will be sent to the next one. */
  disconnect(receiver: Receiver): void {
    if (this.#receiver !== receiver) return;
    this.#receiver = undefined;
    this.#inFlight.clear();
    this.#direct = [];
    for (const cursor of Object.values(this.#cursors)) cursor.rewind();
  }

  /** The client has acknowledged this packet identifier. */
  acknowledge(messageId: number): void {
    const settle = this.#inFlight.get(messageId);
    if (settle === undefined) return;
    this.#inFlight.delete(messageId);
    settle();
    this.wake();
  }

  /** Sends a message that is in no log, if it is subscribed to. Dropped when nobody is connected. */
  offer(message: DirectMessage): void {
    const receiver = this.#receiver;
    const qos = this.subscriptions.qosFor(message.topic);
    if (receiver === undefined || qos === undefined || !this.#mayReceive(message)) return;
    this.#noteSent(message.topic);
    if (Math.min(qos, message.qos) === 1) {
      this.#direct.push(message);
      this.wake();
    } else if (receiver.isWritable) {
      // At most once: a receiver that cannot keep up misses it rather than queueing without bound.
      receiver.send(publishOf(message, 0, 0));
    }
  }

  /**
   * Sends the retained messages of new subscriptions, at QoS 1 within the window. What was sent live
   * under the same topic since the fetch began is newer and stands.
   */
  async offerRetained(fetch: () => Promise<readonly DirectMessage[]>): Promise<void> {
    const receiver = this.#receiver;
    this.#fetches++;
    this.#sentDuringFetch ??= new Set();
    try {
      const retained = await fetch();
      if (this.#receiver !== receiver) return;
      for (const message of retained) this.#queueRetained(message);
      this.wake();
    } finally {
      this.#fetches--;
      if (this.#fetches === 0) this.#sentDuringFetch = undefined;
    }
  }

  #queueRetained(message: DirectMessage): void {
    const qos = this.subscriptions.qosFor(message.topic);
    const isOutdated = this.#sentDuringFetch?.has(message.topic) === true;
    if (qos === undefined || isOutdated || !this.#mayReceive(message)) return;
    this.#direct.push(qos === 0 ? { ...message, qos } : message);
  }

  /** The store has lost entries and numbers this log anew from here (`LogCursor.rewindTo`). */
  rewindTo(log: LogName, sequence: number): void {
    this.#cursors[log].rewindTo(sequence);
  }

  /** Sends what may be sent now: alarms first, and telemetry never takes more than half the window. */
  wake(): void {
    const half = Math.max(1, Math.floor(this.#options.maxInFlight / 2));
    this.#sendFrom(this.#cursors.alarms, () => this.#inFlight.size < this.#options.maxInFlight);
    this.#sendDirect(half);
    const { messages } = this.#cursors;
    this.#sendFrom(messages, () => messages.unacknowledgedCount < half);
    this.#options.onProgress();
  }

  #sendFrom(cursor: LogCursor, hasRoom: () => boolean): void {
    while (this.#receiver?.isWritable === true && hasRoom() && !this.#loading.has(cursor)) {
      const entry = cursor.next();
      if (entry === 'caught-up') return;
      if (entry === 'behind') {
        this.#load(cursor);
        return;
      }
      this.#sendEntry(this.#receiver, cursor, entry);
    }
  }

  #sendEntry(receiver: Receiver, cursor: LogCursor, entry: LogEntry): void {
    const qos = this.subscriptions.qosForEntry(entry);
    if (qos === undefined || !this.#mayReceive(entry)) return;
    this.#noteSent(entry.topic);
    const payload = payloadAt(entry, this.#options.now());
    const message = { topic: entry.topic, payload, retain: false };
    if (qos === 0) {
      // A subscription at QoS 0 is not owed what came while nobody was connected.
      if (entry.sequence <= this.#connectedAfter[cursor.log]) return;
      receiver.send(publishOf(message, qos, 0));
      return;
    }
    const dup = cursor.sent(entry.sequence);
    const messageId = this.#take(() => cursor.acknowledged(entry.sequence));
    receiver.send(publishOf(message, qos, messageId, dup));
  }

  #sendDirect(maxUnacknowledged: number): void {
    let sent = 0;
    for (const message of this.#direct) {
      if (this.#receiver?.isWritable !== true || this.#inFlight.size >= maxUnacknowledged) break;
      const messageId = message.qos === 0 ? 0 : this.#take(() => undefined);
      this.#receiver.send(publishOf(message, message.qos, messageId));
      sent++;
    }
    if (sent > 0) this.#direct = this.#direct.slice(sent);
  }

  /** A retained message of the topic that has not been sent yet is out of date now. */
  #noteSent(topic: string): void {
    this.#sentDuringFetch?.add(topic);
    if (this.#direct.length > 0) {
      this.#direct = this.#direct.filter((message) => message.topic !== topic || !message.retain);
    }
  }

  #load(cursor: LogCursor): void {
    this.#loading.add(cursor);
    cursor
      .load()
      .finally(() => this.#loading.delete(cursor))
      .then(() => this.wake(), this.#options.onReadFailure);
  }

  /** A packet identifier that is not in use [MQTT-2.3.1-4], bound to what its PUBACK settles. */
  #take(settle: () => void): number {
    do {
      this.#lastMessageId = (this.#lastMessageId % MAX_MESSAGE_ID) + 1;
    } while (this.#inFlight.has(this.#lastMessageId));
    this.#inFlight.set(this.#lastMessageId, settle);
    return this.#lastMessageId;
  }
}

function publishOf(
  message: Pick<OutgoingPublish, 'topic' | 'payload' | 'retain'>,
  qos: QoS,
  messageId: number,
  dup = false,
): OutgoingPublish {
  const { topic, payload, retain } = message;
  return { topic, payload, qos, retain, dup, messageId };
}
