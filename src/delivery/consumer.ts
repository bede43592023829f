import type { Audience } from '../domain/grants.js';
import { asLate } from '../domain/messages.js';
import { Cursor } from './cursor.js';
import type { CursorState } from './cursor-state.js';
import { type DirectMessage, DirectQueue, directPublish } from './direct-queue.js';
import { ExpressLanes } from './express-lanes.js';
import { InFlight } from './in-flight.js';
import { type ConsumerLimits, spacingFor } from './limits.js';
import type { LogEntry, LogName, LogPositions, LogReader } from './log-entry.js';
import { LOG_NAMES } from './log-entry.js';
import type { LogTail } from './log-tail.js';
import { Pace } from './pace.js';
import type { Receiver } from './receiver.js';
import type { Routes } from './routes.js';
import type { Member, Selection } from './selection.js';
import type { QoS, Subscriptions } from './subscriptions.js';

/** An alarm forwarded later than this after its receipt is marked `late` (CONTRACT 3). */
const LATE_AFTER_MS = 60_000;

/** A consumer that was sent nothing for so long has nothing to read. */
const READING_FOR_MS = 1_000;

/** What all consumers are fed from. */
export interface ConsumerServices {
  readonly tails: Readonly<Record<LogName, LogTail>>;
  readonly reader: LogReader;
  readonly routes: Routes;
  /** Runs `pump` of a consumer once, after what is being handled now. */
  readonly pumpLater: (consumer: Consumer) => void;
  /** The steady clock. */
  readonly now: () => number;
  /** The real time since a time of the steady clock, as well as that is known. */
  readonly elapsedSinceMs: (timeMs: number) => number;
}

export interface ConsumerOptions {
  /** What it is called in the metrics: the client id of a session. */
  readonly name: string;
  readonly services: ConsumerServices;
  readonly cursors: Readonly<Record<LogName, CursorState>>;
  readonly subscriptions: Subscriptions;
  /** Whether its principal may see what is about these. */
  readonly mayReceive: (audience: Audience) => boolean;
  /** The same for all whose `mayReceive` answers the same. */
  readonly audienceKey: string;
  readonly limits: ConsumerLimits;
  /** Called when a cursor may have moved, so that it is saved. */
  readonly onProgress: () => void;
  /** Called when the store cannot be read; the consumer is woken again later. */
  readonly onReadFailure: (error: unknown) => void;
}

/** What an acknowledgement settles: an entry of a log, or a message beside the logs. */
interface Sent {
  cursor: Cursor | undefined;
  readonly sequence: number;
}

/**
 * One receiver of forwarded messages: subscriptions, a cursor in each log, and while it is connected
 * a window of messages in flight. Absent, it costs nothing but its cursors.
 */
export class Consumer implements Member {
  readonly name: string;
  readonly subscriptions: Subscriptions;
  readonly cursors: Readonly<Record<LogName, Cursor>>;
  readonly #options: ConsumerOptions;
  readonly #services: ConsumerServices;
  readonly #inFlight = new InFlight<Sent>(nameOf);
  readonly #loading = new Set<Cursor>();
  #isLoadingAhead = false;
  /** Refused by the receiver, and not passed yet. */
  readonly #refusals = new Set<Sent>();
  /** While a long backlog of alarms is replayed at a pace. */
  #lanes: ExpressLanes | undefined;
  readonly #direct = new DirectQueue();
  #selection: Selection | undefined;
  #receiver: Receiver | undefined;
  #limits: ConsumerLimits;
  #pace: Pace | undefined;
  #paceTimer: NodeJS.Timeout | undefined;
  /** Those that have not caught up since the connection began: what they bring had to wait. */
  readonly #replaying = new Set<Cursor>();
  #offeredAtMs = Number.NEGATIVE_INFINITY;
  readonly #rejoin = () => this.#join();

  constructor(options: ConsumerOptions) {
    this.#options = options;
    this.#services = options.services;
    this.#limits = options.limits;
    this.name = options.name;
    this.subscriptions = options.subscriptions;
    this.cursors = { alarms: this.#cursor('alarms'), messages: this.#cursor('messages') };
  }

  get isConnected(): boolean {
    return this.#receiver !== undefined;
  }

  /** Whether the consumer is connected and messages have lately been on their way to it. */
  get isReading(): boolean {
    return this.isConnected && this.#services.now() - this.#offeredAtMs < READING_FOR_MS;
  }

  get limits(): ConsumerLimits {
    return this.#limits;
  }

  set limits(limits: ConsumerLimits) {
    if (limits === this.#limits) return;
    this.#limits = limits;
    this.#setPace();
    if (this.#selection !== undefined) this.subscriptionsChanged();
  }

  /** Every entry up to here, in each log, is done with. */
  get settled(): LogPositions {
    return { alarms: this.cursors.alarms.settled, messages: this.cursors.messages.settled };
  }

  /** From now on what its filters match is accepted for it. */
  open(): void {
    this.#join();
  }

  /** Nothing is accepted for it any more. */
  close(): void {
    this.#services.routes.cancel(this.#rejoin);
    if (this.#selection !== undefined) this.#services.routes.leave(this.#selection, this);
    this.#selection = undefined;
  }

  /** Its subscriptions, or its limits, are others now. */
  subscriptionsChanged(): void {
    this.#services.routes.changeLater(this.#rejoin);
  }

  /** From now on messages go to this connection, beginning with those that are not settled. */
  connect(receiver: Receiver): void {
    // One that was taken over [MQTT-3.1.4-2] acknowledges no more: its messages are sent again.
    if (this.#receiver !== undefined) this.disconnect(this.#receiver);
    this.#services.routes.settle();
    this.#receiver = receiver;
    this.#selection?.connected.add(this);
    for (const log of LOG_NAMES) {
      this.cursors[log].start();
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
    this.#selection?.connected.delete(this);
    this.#inFlight.interrupt();
    this.#direct.clear();
    this.#replaying.clear();
    this.#lanes = undefined;
    clearTimeout(this.#paceTimer);
    for (const log of LOG_NAMES) this.cursors[log].rewind();
    this.#options.onProgress();
  }

  /** The receiver has acknowledged this packet identifier. */
  acknowledge(messageId: number): void {
    const sent = this.#inFlight.take(messageId);
    if (sent === undefined) return;
    sent.cursor?.acknowledged(sent.sequence);
    this.#services.pumpLater(this);
  }

  /**
   * The receiver will never take this message. The returned function, called once that is written
   * down, passes it, and it counts as dropped; also on a later connection: some brokers end the one on
   * which they refuse, and the message would come first on the next.
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

  offer(entry: LogEntry): void {
    this.cursors[entry.log].offer(entry);
    if (entry.log === 'alarms') this.#lanes?.accepted(entry);
    this.#services.pumpLater(this);
  }

  offerAtQos0(entry: LogEntry): void {
    this.#sendNow({ topic: entry.topic, payload: this.#payloadOf(entry), retain: false });
  }

  /** Drops the oldest messages beyond the bounds of a backlog; alarms leave it by age only. */
  checkBounds(): void {
    const { maxQueued, maxQueuedBytes } = this.#limits;
    const { messages } = this.cursors;
    // Bounds are looked at when a mark is set: until the next one this much more may come.
    const spacing = spacingFor(this.#limits);
    const isDropped = messages.dropBeyond(
      maxQueued - messages.inFlightCount - (spacing.entries - 1),
      maxQueuedBytes - spacing.bytes,
    );
    if (isDropped) this.#options.onProgress();
  }

  /** Expires what is too old, and follows the logs where nothing concerns it. */
  keepBounds(): void {
    const oldestMs = this.#oldestMs();
    let isMoved = false;
    for (const log of LOG_NAMES) {
      if (this.cursors[log].expireBefore(oldestMs)) isMoved = true;
      this.cursors[log].passUnconcerned();
    }
    if (isMoved) this.#options.onProgress();
    if (this.isConnected) this.wake();
  }

  needs(entry: LogEntry): boolean {
    return this.cursors[entry.log].needs(entry);
  }

  recount(entry: LogEntry, countedUpTo: number): void {
    if (!this.subscriptions.hasEnded) this.cursors[entry.log].recount(entry, countedUpTo, true);
  }

  /** The same for a consumer with filters that have ended, for any entry. */
  recountEnded(entry: LogEntry, countedUpTo: number): void {
    this.cursors[entry.log].recount(entry, countedUpTo);
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
    if (log === 'alarms') this.#openLanes();
    if (this.isConnected) this.#services.pumpLater(this);
  }

  /** Sends a message that is in no log, if it is subscribed to. Dropped when nobody is connected. */
  offerDirect(message: DirectMessage, qos: QoS): void {
    if (!this.isConnected || !this.#options.mayReceive(message)) return;
    this.#direct.noteSent(message.topic);
    if (qos === 1 && message.qos === 1) {
      this.#direct.add(message);
      this.#services.pumpLater(this);
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
    if (this.#receiver === undefined) return;
    if (this.#inFlight.size > 0) this.#offeredAtMs = this.#services.now();
    const window = Math.min(this.#limits.maxInFlight, this.#receiver.maxInFlight ?? Infinity);
    const half = Math.max(1, Math.floor(window / 2));
    const { alarms, messages } = this.cursors;
    const oldestMs = this.#oldestMs();
    this.#sendAhead(alarms, window);
    this.#sendFrom(alarms, oldestMs, () => this.#inFlight.size < window);
    this.#sendDirect(half);
    const hasRoom = () => this.#inFlight.size < window && messages.inFlightCount < half;
    // While alarms are being read or keep a pace, telemetry does not come before them.
    const mustWait = this.#pace !== undefined && this.#replaying.has(alarms);
    if (!mustWait && !this.#loading.has(alarms)) this.#sendFrom(messages, oldestMs, hasRoom);
    this.#options.onProgress();
  }

  #cursor(log: LogName): Cursor {
    const { services, cursors } = this.#options;
    return new Cursor({
      log,
      tail: services.tails[log],
      reader: services.reader,
      state: cursors[log],
      concerns: (entry) =>
        this.#options.mayReceive(entry) && this.subscriptions.qosForEntry(entry) === 1,
    });
  }

  /** Joins the selection of its present filters. */
  #join(): void {
    const { routes } = this.#services;
    const { mayReceive, audienceKey } = this.#options;
    const before = this.#selection;
    const filters = this.subscriptions.list();
    const rule = { audienceKey, mayReceive, filters, limits: this.#limits };
    this.#selection = routes.join(rule, this);
    if (before === this.#selection) return;
    for (const log of LOG_NAMES) {
      const marksFrom = this.subscriptions.unchangedSince(log);
      this.cursors[log].follow(this.#selection.tallies[log], marksFrom);
    }
    if (before !== undefined) routes.leave(before, this);
  }

  #oldestMs(): number {
    return this.#services.now() - this.#limits.maxAgeMs;
  }

  #sendFrom(cursor: Cursor, oldestMs: number, hasRoom: () => boolean): void {
    while (this.#receiver?.isWritable === true && hasRoom() && !this.#isHeldUp(cursor)) {
      if (!this.#mayGoOn(cursor)) return;
      const entry = cursor.next(oldestMs);
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
      this.#send(this.#receiver, cursor, entry, cursor.sent(entry));
      if (cursor.wantsPage) this.#load(cursor);
    }
  }

  /** Whether a page is being loaded and nothing of the page before is left. */
  #isHeldUp(cursor: Cursor): boolean {
    return this.#loading.has(cursor) && !cursor.hasPage;
  }

  /**
   * New alarms that do not wait for the end of the backlog, nor for the pace; what waits is held back
   * for it, so that in the end the upstream gets no more than it should.
   */
  #sendAhead(alarms: Cursor, window: number): void {
    const lanes = this.#lanes;
    if (lanes === undefined || this.#isLoadingAhead) return;
    while (this.#receiver?.isWritable === true && this.#inFlight.size < window) {
      const entry = lanes.next();
      if (entry === undefined) return;
      if (entry === 'not-loaded') {
        this.#loadAhead(lanes);
        return;
      }
      alarms.sentAhead(entry);
      if (lanes.hasWaited(entry)) this.#pace?.took();
      this.#send(this.#receiver, alarms, entry, false);
    }
  }

  #send(receiver: Receiver, cursor: Cursor, entry: LogEntry, wasSent: boolean): void {
    const { topic, sequence } = entry;
    this.#direct.noteSent(topic);
    const { messageId, isRepeated } = this.#inFlight.add({ cursor, sequence });
    const payload = this.#payloadOf(entry);
    receiver.send({ topic, payload, retain: false, qos: 1, messageId, dup: wasSent || isRepeated });
  }

  #payloadOf(entry: LogEntry): Buffer {
    if (entry.log !== 'alarms') return entry.payload;
    const isLate = this.#services.elapsedSinceMs(entry.receivedAtMs) > LATE_AFTER_MS;
    return isLate ? asLate(entry.payload) : entry.payload;
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
    const { tails, reader } = this.#services;
    const { alarms } = this.cursors;
    this.#lanes = undefined;
    if (!this.isConnected || this.#pace === undefined || alarms.unread === 0) return;
    this.#lanes = new ExpressLanes({ cursor: alarms, reader, tail: tails.alarms });
  }

  #loadAhead(lanes: ExpressLanes): void {
    this.#isLoadingAhead = true;
    lanes
      .load()
      .finally(() => {
        this.#isLoadingAhead = false;
      })
      .then(() => this.wake(), this.#options.onReadFailure);
  }

  #load(cursor: Cursor): void {
    if (this.#loading.has(cursor)) return;
    this.#loading.add(cursor);
    cursor
      .load()
      .finally(() => this.#loading.delete(cursor))
      .then(() => this.wake(), this.#options.onReadFailure);
  }

  #setPace(): void {
    const { replayPerSecond } = this.#limits;
    this.#pace =
      replayPerSecond === undefined ? undefined : new Pace(replayPerSecond, this.#services.now);
  }

  /** Whether the pace lets another message of the cursor go now; if not, it is woken when it does. */
  #mayGoOn(cursor: Cursor): boolean {
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
