import type { Audience } from '../domain/grants.js';
import type { AwayCount, AwayMember } from './away-counts.js';
import type { CursorState } from './cursor-state.js';
import { type DirectMessage, DirectQueue, directPublish } from './direct-queue.js';
import { ExpressLanes } from './express-lanes.js';
import { InFlight } from './in-flight.js';
import type { DestinationLimits } from './limits.js';
import { LogCursor } from './log-cursor.js';
import type { LogEntry, LogName, LogReader } from './log-entry.js';
import { LOG_NAMES, payloadAt } from './log-entry.js';
import type { LogTail } from './log-tail.js';
import { Pace } from './pace.js';
import type { Receiver } from './receiver.js';
import type { LogPositions, QoS, Subscriptions } from './subscriptions.js';

export interface DestinationOptions {
  /** What it is called in the metrics: the client id of a session. */
  readonly name: string;
  readonly tails: Readonly<Record<LogName, LogTail>>;
  readonly reader: LogReader;
  readonly cursors: Readonly<Record<LogName, CursorState>>;
  readonly subscriptions: Subscriptions;
  /** Whether its principal may see what is about these. */
  readonly mayReceive: (audience: Audience) => boolean;
  /** The same for all whose `mayReceive` answers the same. */
  readonly audienceKey: string;
  readonly limits: DestinationLimits;
  readonly now: () => number;
  /** Called when a cursor may have moved, so that it is saved. */
  readonly onProgress: () => void;
  /** Called when it is connected, and when it is away again. */
  readonly onConnection: () => void;
  /** Called when the store cannot be read; the destination is woken again later. */
  readonly onReadFailure: (error: unknown) => void;
}

/** What an acknowledgement settles: an entry of a log, or nothing that is owed. */
interface Sent {
  cursor: LogCursor | undefined;
  readonly sequence: number;
}

/**
 * One receiver of forwarded messages: subscriptions, a cursor in each log, and while it is connected
 * a window of messages that await their acknowledgement. Offline it costs nothing but its cursors.
 */
export class Destination {
  readonly name: string;
  readonly subscriptions: Subscriptions;
  readonly #cursors: Readonly<Record<LogName, LogCursor>>;
  readonly #options: DestinationOptions;
  readonly #inFlight = new InFlight<Sent>(nameOf);
  readonly #loading = new Set<LogCursor>();
  #loadingAhead = false;
  /** Refused, and not yet passed. */
  readonly #refusals = new Set<Sent>();
  /** While a long backlog of alarms is replayed at a pace. */
  #lanes: ExpressLanes | undefined;
  readonly #direct = new DirectQueue();
  #away: AwayCount | undefined;
  #receiver: Receiver | undefined;
  #limits: DestinationLimits;
  #pace: Pace | undefined;
  #paceTimer: NodeJS.Timeout | undefined;
  /** Those that have not caught up since it was connected: what they bring had to wait. */
  readonly #replaying = new Set<LogCursor>();

  constructor(options: DestinationOptions) {
    this.#options = options;
    this.#limits = options.limits;
    this.name = options.name;
    this.subscriptions = options.subscriptions;
    this.#cursors = { alarms: this.#cursor('alarms'), messages: this.#cursor('messages') };
  }

  get isConnected(): boolean {
    return this.#receiver !== undefined;
  }

  get cursors(): Readonly<Record<LogName, LogCursor>> {
    this.#countAway();
    return this.#cursors;
  }

  get limits(): DestinationLimits {
    return this.#limits;
  }

  set limits(limits: DestinationLimits) {
    this.#limits = limits;
    this.#setPace();
  }

  /** What decides what it is owed while it is away. */
  get member(): AwayMember {
    const { audienceKey, mayReceive } = this.#options;
    return { audienceKey, mayReceive, filters: this.subscriptions.list() };
  }

  /** From now on `appended` is not called, but what it is owed is counted there; or again is. */
  countedBy(away: AwayCount | undefined): void {
    this.#countAway();
    this.#away?.leave();
    this.#away = away;
  }

  /** Everything up to here, in each log, need not be sent to this destination any more. */
  get settled(): LogPositions {
    return { alarms: this.cursors.alarms.settled, messages: this.cursors.messages.settled };
  }

  /** From now on messages go to this connection, beginning with those that are not settled. */
  connect(receiver: Receiver): void {
    // One that was taken over [MQTT-3.1.4-2] acknowledges no more: its messages are sent again.
    if (this.#receiver !== undefined) this.disconnect(this.#receiver);
    this.#receiver = receiver;
    this.#options.onConnection();
    for (const log of LOG_NAMES) {
      if (this.cursors[log].queued > 0) this.#replaying.add(this.cursors[log]);
    }
    this.#setPace();
    this.#openLanes();
    this.wake();
  }

  /** The connection is gone: what it has not acknowledged will be sent to the next one. */
  disconnect(receiver: Receiver): void {
    if (this.#receiver !== receiver) return;
    this.#receiver = undefined;
    this.#inFlight.interrupt();
    this.#direct.clear();
    this.#replaying.clear();
    this.#lanes = undefined;
    clearTimeout(this.#paceTimer);
    for (const log of LOG_NAMES) this.cursors[log].rewind();
    this.#options.onConnection();
    this.#options.onProgress();
  }

  /** The receiver has acknowledged this packet identifier. */
  acknowledge(messageId: number): void {
    const sent = this.#inFlight.take(messageId);
    if (sent === undefined) return;
    sent.cursor?.acknowledged(sent.sequence);
    this.wake();
  }

  /**
   * The receiver will never take this message: what is returned, called once that is written down,
   * passes it, and it counts as dropped. Also on a later connection: some brokers end the one on which
   * they refuse, and the message would come first on the next.
   */
  refusal(messageId: number): () => void {
    const sent = this.#inFlight.get(messageId);
    if (sent === undefined) return () => undefined;
    this.#refusals.add(sent);
    return () => {
      this.#refusals.delete(sent);
      if (sent === this.#inFlight.get(messageId)) this.#inFlight.take(messageId);
      sent.cursor?.refused(sent.sequence);
      this.wake();
    };
  }

  /** It is connected, and an entry that one of its filters matches stands at the end of its log. */
  appended(entry: LogEntry): void {
    const qos = this.#qosOwed(entry);
    if (qos === undefined) return;
    if (qos === 0) {
      // A subscription at QoS 0 is owed nothing: it gets what it can take while it is connected.
      this.#sendNow({ ...entry, payload: payloadAt(entry, this.#options.now()), retain: false });
      return;
    }
    this.cursors[entry.log].accept(entry);
    if (entry.log === 'alarms') this.#lanes?.accepted(entry);
    this.#dropExcess();
    this.wake();
  }

  /** The store has lost its newest entries and numbers anew from here. */
  storeWentBack(log: LogName, sequence: number): void {
    const cursor = this.cursors[log];
    cursor.storeWentBack(sequence);
    // What is answered yet of those that are lost says nothing of the entries that get their numbers.
    for (const sent of [...this.#inFlight.all(), ...this.#refusals]) {
      if (sent.cursor === cursor && sent.sequence > sequence) sent.cursor = undefined;
    }
    this.#inFlight.forgetInterrupted();
    this.subscriptions.rewindTo(log, sequence);
    this.#away?.wentBack(log, sequence);
    if (log === 'alarms') this.#openLanes();
  }

  /** At start: every entry of both logs that is still owed has been counted. */
  recounted(): void {
    for (const log of LOG_NAMES) this.cursors[log].recounted();
    this.#dropExcess();
  }

  /** Passes an entry that has fallen out (`LogCursor.sweep`); returns false when it must wait. */
  sweep(entry: LogEntry, isExpired: boolean): boolean {
    const isPassed = this.cursors[entry.log].sweep(entry, isExpired);
    if (isPassed) this.#options.onProgress();
    return isPassed;
  }

  /** Sends a message that is in no log, if it is subscribed to. Dropped when nobody is connected. */
  offer(message: DirectMessage): void {
    const qos = this.subscriptions.qosFor(message.topic);
    if (!this.isConnected || qos === undefined || !this.#options.mayReceive(message)) return;
    this.#direct.noteSent(message.topic);
    if (qos === 1 && message.qos === 1) {
      this.#direct.add(message);
      this.wake();
    } else {
      this.#sendNow(message);
    }
  }

  /**
   * Sends the retained messages of new subscriptions, at QoS 1 within the window. What was sent live
   * under the same topic since the fetch began is newer and stands.
   */
  async offerRetained(fetch: () => Promise<readonly DirectMessage[]>): Promise<void> {
    const receiver = this.#receiver;
    await this.#direct.addRetained(async () => {
      const retained = await fetch();
      if (this.#receiver !== receiver) return [];
      return retained.flatMap((message) => {
        const qos = this.subscriptions.qosFor(message.topic);
        if (qos === undefined || !this.#options.mayReceive(message)) return [];
        return [qos === 0 ? { ...message, qos } : message];
      });
    });
    this.wake();
  }

  /** Sends what may be sent now: alarms first, and telemetry never takes more than half the window. */
  wake(): void {
    const window = Math.min(this.#limits.maxInFlight, this.#receiver?.maxInFlight ?? Infinity);
    const half = Math.max(1, Math.floor(window / 2));
    const { alarms, messages } = this.cursors;
    this.#sendAhead(alarms, window);
    this.#sendFrom(alarms, () => this.#inFlight.size < window);
    this.#sendDirect(half);
    const hasRoom = () => this.#inFlight.size < window && messages.outstandingCount < half;
    // While alarms are being read or keep a pace, telemetry does not come before them.
    const mustWait = this.#pace !== undefined && this.#replaying.has(alarms);
    if (!mustWait && !this.#loading.has(alarms)) this.#sendFrom(messages, hasRoom);
    this.#options.onProgress();
  }

  #cursor(log: LogName): LogCursor {
    const { tails, reader, cursors } = this.#options;
    return new LogCursor({
      log,
      tail: tails[log],
      reader,
      state: cursors[log],
      concerns: (entry) => this.#qosOwed(entry) === 1,
    });
  }

  #countAway(): void {
    if (this.#away === undefined) return;
    let hasMore = false;
    for (const log of LOG_NAMES) {
      const { count, after } = this.#away.take(log);
      this.#cursors[log].acceptAll(count, after);
      hasMore ||= count > 0;
    }
    // Away, its cursors stand still but for that: the rest is counted again after a restart.
    if (hasMore && this.#dropExcess()) this.#options.onProgress();
  }

  /** The QoS at which the entry is to reach this destination, undefined when it is not. */
  #qosOwed(entry: LogEntry): QoS | undefined {
    return this.#options.mayReceive(entry) ? this.subscriptions.qosForEntry(entry) : undefined;
  }

  /** What exceeds the bound falls out, the oldest first, and alarms last (CONTRACT 4.6). */
  #dropExcess(): boolean {
    const { alarms, messages } = this.#cursors;
    let hasDropped = false;
    while (alarms.queued + messages.queued > this.#limits.maxQueued) {
      if (!messages.dropOldest() && !alarms.dropOldest()) break;
      hasDropped = true;
    }
    return hasDropped;
  }

  #sendFrom(cursor: LogCursor, hasRoom: () => boolean): void {
    while (this.#receiver?.isWritable === true && hasRoom() && !this.#loading.has(cursor)) {
      if (!this.#mayGoOn(cursor)) return;
      const entry = cursor.next();
      if (entry === 'caught-up') {
        this.#replaying.delete(cursor);
        if (cursor.log === 'alarms') this.#lanes = undefined;
        return;
      }
      if (entry === 'behind') {
        this.#load(cursor);
        return;
      }
      if (this.#replaying.has(cursor)) this.#pace?.took();
      this.#send(this.#receiver, cursor, entry, cursor.sent(entry.sequence));
    }
  }

  /**
   * New alarms that do not wait for the end of the backlog, nor for the pace; what waits is held back
   * for it, so that in the end the upstream gets no more than it should.
   */
  #sendAhead(alarms: LogCursor, window: number): void {
    const lanes = this.#lanes;
    if (lanes === undefined || this.#loadingAhead) return;
    while (this.#receiver?.isWritable === true && this.#inFlight.size < window) {
      const entry = lanes.next();
      if (entry === undefined) return;
      if (entry === 'not-loaded') {
        this.#loadAhead(lanes);
        return;
      }
      alarms.sentAhead(entry.sequence);
      if (lanes.hasWaited(entry)) this.#pace?.took();
      this.#send(this.#receiver, alarms, entry, false);
    }
  }

  #send(receiver: Receiver, cursor: LogCursor, entry: LogEntry, wasSent: boolean): void {
    const { topic, sequence } = entry;
    this.#direct.noteSent(topic);
    const { messageId, isRepeated } = this.#inFlight.add({ cursor, sequence });
    const payload = payloadAt(entry, this.#options.now());
    const dup = wasSent || isRepeated;
    receiver.send({ topic, payload, retain: false, qos: 1, messageId, dup });
  }

  #sendDirect(maxInFlight: number): void {
    while (this.#receiver?.isWritable === true && this.#inFlight.size < maxInFlight) {
      const message = this.#direct.take();
      if (message === undefined) return;
      const messageId =
        message.qos === 0 ? 0 : this.#inFlight.add({ cursor: undefined, sequence: 0 }).messageId;
      this.#receiver.send(directPublish(message, message.qos, messageId));
    }
  }

  /** At most once: a receiver that cannot keep up misses it rather than queueing without bound. */
  #sendNow(message: Pick<DirectMessage, 'topic' | 'payload' | 'retain'>): void {
    if (this.#receiver?.isWritable === true) this.#receiver.send(directPublish(message, 0, 0));
  }

  #openLanes(): void {
    const { tails, reader } = this.#options;
    const { alarms } = this.#cursors;
    this.#lanes = undefined;
    if (!this.isConnected || this.#pace === undefined || alarms.unread === 0) return;
    this.#lanes = new ExpressLanes({ cursor: alarms, reader, tail: tails.alarms });
  }

  #loadAhead(lanes: ExpressLanes): void {
    this.#loadingAhead = true;
    lanes
      .load()
      .finally(() => {
        this.#loadingAhead = false;
      })
      .then(() => this.wake(), this.#options.onReadFailure);
  }

  #load(cursor: LogCursor): void {
    this.#loading.add(cursor);
    cursor
      .load()
      .finally(() => this.#loading.delete(cursor))
      .then(() => this.wake(), this.#options.onReadFailure);
  }

  #setPace(): void {
    const { replayPerSecond } = this.#limits;
    this.#pace =
      replayPerSecond === undefined ? undefined : new Pace(replayPerSecond, this.#options.now);
  }

  /** Whether the pace lets another message of the cursor go now; if not, it is woken when it does. */
  #mayGoOn(cursor: LogCursor): boolean {
    const waitMs = this.#replaying.has(cursor) ? (this.#pace?.waitMs() ?? 0) : 0;
    if (waitMs === 0) return true;
    clearTimeout(this.#paceTimer);
    this.#paceTimer = setTimeout(() => this.wake(), waitMs);
    return false;
  }
}

/** The same for an entry of a log whenever it is sent; the rest is sent once. */
function nameOf({ cursor, sequence }: Sent): string | undefined {
  return cursor && `${cursor.log} ${sequence}`;
}
