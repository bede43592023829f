import type { ConsumerOptions, ConsumerServices } from './consumer-options.js';
import { Cursor } from './cursors/cursor.js';
import { Replay } from './cursors/replay.js';
import type { DirectMessage } from './direct-queue.js';
import { type ConsumerLimits, spacingFor } from './limits.js';
import { LOG_NAMES, type LogEntry, type LogName } from './log/log-entry.js';
import type { Receiver } from './receiver.js';
import type { RetainedFeedOptions } from './retained/retained-feed.js';
import type { Member, Selection } from './routes.js';
import { SendingWindow } from './sending-window.js';
import type { QoS, Subscriptions } from './sessions/subscriptions.js';

/** A consumer that was sent nothing for this long has nothing to read. */
const READING_FOR_MS = 1_000;
/** A consumer that acknowledges later is slow itself. */
const PROMPT_WITHIN_MS = 100;

/**
 * One receiver of forwarded messages: subscriptions, cursors, and a sending window.
 *
 * An absent consumer costs nothing but its cursors.
 */
export class Consumer implements Member {
  readonly name: string;
  readonly subscriptions: Subscriptions;
  readonly cursors: Readonly<Record<LogName, Cursor>>;
  readonly #options: ConsumerOptions;
  readonly #services: ConsumerServices;
  readonly #window: SendingWindow;
  #selection: Selection | undefined;
  #limits: ConsumerLimits;
  #offeredAtMs = Number.NEGATIVE_INFINITY;
  readonly #rejoin = () => this.#join();

  constructor(options: ConsumerOptions) {
    this.#options = options;
    this.#services = options.services;
    this.#limits = options.limits;
    this.name = options.name;
    this.subscriptions = options.subscriptions;
    this.cursors = { alarms: this.#cursor('alarms'), messages: this.#cursor('messages') };
    this.#window = new SendingWindow({
      ...{ cursors: this.cursors, services: options.services },
      onReady: () => this.wake(),
      onReadFailure: options.onReadFailure,
      // Nothing is dropped while a page is being loaded.
      onLoaded: () => this.checkBounds(),
    });
  }

  get isConnected(): boolean {
    return this.#window.receiver !== undefined;
  }

  /**
   * Whether the consumer is being sent messages and acknowledges them promptly.
   *
   * The lag of a prompt consumer is the gateway's own doing. A consumer whose backlog is sent at a
   * pace is never prompt.
   */
  get isPrompt(): boolean {
    const isBusy = this.isConnected && this.#services.now() - this.#offeredAtMs < READING_FOR_MS;
    const isPaced = this.#limits.replayPerSecond !== undefined;
    return isBusy && !isPaced && this.#window.roundTripMs < PROMPT_WITHIN_MS;
  }

  get limits(): ConsumerLimits {
    return this.#limits;
  }

  set limits(limits: ConsumerLimits) {
    if (limits === this.#limits) return;
    this.#limits = limits;
    if (this.isConnected) this.#paceReplay();
    if (this.#selection !== undefined) this.subscriptionsChanged();
  }

  /** Forgets ended subscriptions without queued entries. */
  pruneSubscriptions(): void {
    const { alarms, messages } = this.cursors;
    this.subscriptions.prune({ alarms: alarms.ackFloor, messages: messages.ackFloor });
  }

  /** Accepts entries that match the filters from now on. */
  open(): void {
    this.#join();
  }

  /** Accepts no more entries. */
  close(): void {
    this.#services.routes.cancel(this.#rejoin);
    if (this.#selection !== undefined) this.#services.routes.leave(this.#selection, this);
    this.#selection = undefined;
  }

  /** Joins another selection after a change of subscriptions or limits. */
  subscriptionsChanged(): void {
    this.#services.routes.changeLater(this.#rejoin);
  }

  /** Sends to this connection, beginning with unacknowledged messages. */
  connect(receiver: Receiver): void {
    // A connection that was taken over acknowledges no more [MQTT-3.1.4-2].
    const { receiver: before } = this.#window;
    if (before !== undefined) this.disconnect(before);
    this.#services.routes.applyChanges();
    this.#window.open(receiver);
    if (this.#selection !== undefined) this.#services.routes.connect(this.#selection, this);
    for (const log of LOG_NAMES) this.cursors[log].start();
    this.#paceReplay();
    this.wake();
  }

  /** Ends a connection; unacknowledged messages are sent to the next one. */
  disconnect(receiver: Receiver): void {
    if (this.#window.receiver !== receiver) return;
    this.#window.close();
    this.#selection?.connected.delete(this);
    for (const log of LOG_NAMES) this.cursors[log].rewind();
    this.#options.moved.add(this);
  }

  /** Handles an acknowledgement by packet identifier. Returns whether its message was in flight. */
  acknowledge(messageId: number): boolean {
    const wasInFlight = this.#window.acknowledge(messageId);
    if (wasInFlight) this.#services.pumpLater(this);
    return wasInFlight;
  }

  /**
   * Turns a message that the receiver never takes into a dead letter.
   *
   * The returned function, called once the dead letter is stored, passes the message, which counts
   * as dropped; on a later connection too, because some brokers close the connection on which they
   * reject a message, and the message would come first on the next.
   */
  deadLetter(messageId: number): () => void {
    return this.#window.deadLetter(messageId);
  }

  offer(entry: LogEntry): void {
    this.cursors[entry.log].position.offer(entry);
    if (entry.log === 'alarms') this.#window.replay?.accepted(entry);
    this.#services.pumpLater(this);
  }

  offerAtQos0(entry: LogEntry): void {
    this.#window.sendAtQos0(entry);
  }

  /** Drops the oldest messages beyond the bounds; alarms leave by age only. */
  checkBounds(): void {
    const { maxQueued, maxQueuedBytes } = this.#limits;
    // Bounds are checked when a mark is set; until the next mark this much more may arrive.
    const spacing = spacingFor(this.#limits);
    this.#dropBeyond(maxQueued - (spacing.entries - 1), maxQueuedBytes - spacing.bytes);
  }

  /** Bytes of the messages that wait; alarms do not count. */
  get backlogBytes(): number {
    return this.cursors.messages.queuedBytes;
  }

  /** Drops the oldest messages beyond so many bytes; alarms leave by age only. */
  cutBacklog(maxBytes: number): void {
    this.#dropBeyond(Number.POSITIVE_INFINITY, maxBytes);
  }

  /** Expires old entries, and follows logs in which nothing concerns the consumer. */
  keepBounds(): void {
    const oldestMs = this.#oldestMs();
    let isMoved = false;
    for (const log of LOG_NAMES) {
      if (this.cursors[log].expireBefore(oldestMs)) isMoved = true;
      this.cursors[log].position.followEnd();
    }
    if (isMoved) this.#options.moved.add(this);
    if (this.isConnected) this.wake();
  }

  /** Begins the recount at start, after this entry, or after the ack floor if the log lost some. */
  beginCount(log: LogName, countedUpTo: number): void {
    const hasLost = this.cursors[log].beginCount(countedUpTo);
    if (hasLost) this.#rewindSubscriptions(log, this.#services.tails[log].last);
  }

  /** Allows jumps over entries from before the start: their marks are set. */
  marked(): void {
    for (const log of LOG_NAMES) this.cursors[log].marked();
    this.checkBounds();
  }

  /** Follows a store that lost its newest entries and numbers anew from here. */
  storeWentBack(log: LogName, sequence: number): void {
    const cursor = this.cursors[log];
    cursor.storeWentBack(sequence);
    this.#window.storeWentBack(cursor, sequence);
    this.#rewindSubscriptions(log, sequence);
    if (!this.isConnected) return;
    if (log === 'alarms') this.#window.replay?.openLanes();
    this.#services.pumpLater(this);
  }

  /** Sends a message at QoS 0. Returns whether the connection took it. */
  offerCopy(message: DirectMessage): boolean {
    return this.#window.sendNow(message);
  }

  /** Sends a message beside the logs, if permitted. Dropped when nobody is connected. */
  offerDirect(message: DirectMessage, qos: QoS): void {
    if (!this.isConnected || !this.#options.mayReceive(message)) return;
    if (qos === 1 && message.qos === 1) {
      this.#window.direct.add(message);
      this.#services.pumpLater(this);
    } else {
      this.#window.sendNow(message);
    }
  }

  /** Sends the retained messages of new subscriptions, as fast as the connection takes them. */
  offerRetained(filters: readonly string[], retained: RetainedFeedOptions['retained']): void {
    if (!this.isConnected) return;
    this.#window.direct.addRetained(filters, {
      retained,
      select: (message) => {
        const qos = this.subscriptions.qosFor(message.topic);
        if (qos === undefined || !this.#options.mayReceive(message)) return undefined;
        return qos === 0 ? { ...message, qos } : message;
      },
      isSubscribed: (filter) => this.subscriptions.has(filter),
      onMore: () => this.wake(),
    });
    this.wake();
  }

  /** Sends as much as the window allows. */
  wake(): void {
    if (!this.isConnected) return;
    if (this.#window.inFlightCount > 0) this.#offeredAtMs = this.#services.now();
    this.#window.fill(this.#limits);
    this.#options.moved.add(this);
  }

  #cursor(log: LogName): Cursor {
    const { services, cursors } = this.#options;
    return new Cursor({
      log,
      tail: services.tails[log],
      reader: services.reader,
      state: cursors[log],
      onLost: (count) => services.lost(log, count),
      concerns: (entry) =>
        this.#options.mayReceive(entry) && this.subscriptions.qosForEntry(entry) === 1,
    });
  }

  #dropBeyond(maxCount: number, maxBytes: number): void {
    if (this.cursors.messages.dropBeyond(maxCount, maxBytes)) this.#options.moved.add(this);
  }

  /** Makes subscriptions cover the numbers that the log will assign again. */
  #rewindSubscriptions(log: LogName, sequence: number): void {
    this.subscriptions.rewindTo(log, sequence);
    this.#options.onSubscriptionsRewound();
  }

  /** Replays the backlog at the pace that the limits set, if any. */
  #paceReplay(): void {
    const { replayPerSecond: perSecond } = this.#limits;
    const { tails, reader, now } = this.#services;
    this.#window.replay?.end();
    this.#window.replay =
      perSecond === undefined
        ? undefined
        : new Replay({
            ...{ ...this.cursors, perSecond, tail: tails.alarms, reader, now },
            onReady: () => this.wake(),
            onReadFailure: this.#options.onReadFailure,
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
}
