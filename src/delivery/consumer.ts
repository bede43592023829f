import type { Audience } from '../domain/grants.js';
import type { ConsumerLimits, ConsumerOptions, ConsumerServices } from './consumer-options.js';
import type { DirectMessage } from './direct-queue.js';
import { LOG_NAMES, type LogEntry, messageOf } from './log/log-entry.js';
import { NO_ACCOUNTS, type Queued } from './queues/account.js';
import { MemoryQueues } from './queues/memory-queues.js';
import { type Accounts, type Backlog, NO_BACKLOG } from './queues/queue-store.js';
import { StoredQueues } from './queues/stored-queues.js';
import type { Receiver } from './receiver.js';
import type { RetainedFeedOptions } from './retained/retained-feed.js';
import type { RouteMember } from './routes.js';
import { SendingWindow } from './sending-window.js';
import type { QoS, Subscriptions } from './sessions/subscriptions.js';

/** A consumer that was sent nothing for this long has nothing to read. */
const READING_FOR_MS = 1_000;
/** A consumer that takes longer to acknowledge is itself slow. */
const PROMPT_WITHIN_MS = 100;

/**
 * One receiver of forwarded messages: subscriptions, queues, and a sending window.
 *
 * While absent, it costs nothing. While behind, it reads its queues in the store. While live, it gets new entries.
 */
export class Consumer implements RouteMember {
  readonly name: string;
  readonly key: string | undefined;
  readonly session: string;
  readonly subscriptions: Subscriptions;
  readonly mayReceive: (audience: Audience) => boolean;
  /** The queues in the store; undefined for a clean session. */
  readonly #stored: StoredQueues | undefined;
  readonly #memory: MemoryQueues;
  readonly #services: ConsumerServices;
  readonly #options: ConsumerOptions;
  readonly window: SendingWindow;
  /** The consumers of groups whose messages go over this consumer's connection. */
  readonly carried = new Set<Consumer>();
  #limits: ConsumerLimits;
  #backlog = NO_BACKLOG;
  #storedAccounts = NO_ACCOUNTS;
  #bounding: Promise<void> | undefined;
  #offeredAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: ConsumerOptions) {
    this.#options = options;
    const { name, key, services, subscriptions, mayReceive, limits } = options;
    this.#services = services;
    this.#limits = limits;
    this.name = name;
    this.key = key;
    this.session = options.session;
    this.subscriptions = subscriptions;
    this.mayReceive = mayReceive;
    const maxMessages = () => this.#limits.maxQueued;
    this.#memory = new MemoryQueues({ maxMessages, mayReceive, now: services.now });
    this.#stored =
      key === undefined
        ? undefined
        : new StoredQueues({
            key,
            services,
            mayReceive,
            maxMessages,
            onBacklog: (backlog) => this.noteBacklog(backlog),
          });
    this.window = new SendingWindow({
      queues: this.#stored ?? this.#memory,
      services,
      forwardingFor: (topic) => subscriptions.forwardingFor(topic),
      onReady: () => this.wake(),
      onReadFailure: options.onReadFailure,
    });
  }

  get isConnected(): boolean {
    return this.window.receiver !== undefined;
  }

  /**
   * Whether the consumer gets messages and acknowledges them promptly.
   *
   * The gateway itself causes the lag of a prompt consumer. A consumer with a paced backlog is never
   * prompt.
   */
  get isPrompt(): boolean {
    const isBusy = this.isConnected && this.#services.now() - this.#offeredAtMs < READING_FOR_MS;
    const isPaced = this.#limits.replayPerSecond !== undefined;
    return isBusy && !isPaced && this.window.roundTripMs < PROMPT_WITHIN_MS;
  }

  /** How many entries are still unsent, as far as known. */
  get lag(): number {
    const stored = this.#stored;
    return LOG_NAMES.reduce((sum, log) => {
      if (stored === undefined) return sum + this.#memory.readyCount(log);
      const behind = this.#backlog[log] - this.window.countOf(log);
      return sum + (stored.isLive(log) ? stored.readyCount(log) : Math.max(0, behind));
    }, 0);
  }

  get limits(): ConsumerLimits {
    return this.#limits;
  }

  set limits(limits: ConsumerLimits) {
    if (limits === this.#limits) return;
    this.#limits = limits;
    if (this.isConnected) this.#paceReplay();
  }

  /** How many entries wait, including those in flight; for a durable consumer as last reported by the store. */
  get queued(): Queued {
    return this.#stored === undefined ? this.#memory.queued : this.#backlog;
  }

  /** Bytes of waiting messages; alarms do not count. */
  get backlogBytes(): number {
    return this.#stored === undefined ? this.#memory.messageBytes : this.#backlog.messageBytes;
  }

  /** The accounts; for a durable consumer as last read from the store. */
  get accounts(): Accounts {
    return this.#stored === undefined ? this.#memory.accounts : this.#storedAccounts;
  }

  /** Notes the accounts that the store reports. */
  noteAccounts(accounts: Accounts): void {
    this.#storedAccounts = accounts;
    this.noteBacklog({ alarms: accounts.alarms.queued, messages: accounts.messages.queued });
  }

  noteBacklog(backlog: Partial<Backlog>): void {
    this.#backlog = { ...this.#backlog, ...backlog };
    const { maxQueued, maxQueuedBytes } = this.#limits;
    const { messages, messageBytes } = this.#backlog;
    if (messages > maxQueued || messageBytes > maxQueuedBytes) void this.keepBounds();
  }

  /** Reads the queues again: they were mended, and may have lost entries. */
  mended(backlog: Backlog): void {
    const lost = this.queued.alarms - backlog.alarms;
    if (lost > 0) this.#services.lost('alarms', lost);
    this.noteBacklog(backlog);
    this.restart();
  }

  /** When the oldest waiting entry was received, by the steady clock; undefined for an empty queue. */
  async oldestReceivedAtMs(): Promise<number | undefined> {
    const { key } = this;
    return key === undefined ? undefined : this.#services.queues.oldestReceivedAtMs(key);
  }

  /** Sends to this connection, beginning with unacknowledged messages. */
  connect(receiver: Receiver): void {
    // A connection that was taken over no longer acknowledges [MQTT-3.1.4-2].
    const { receiver: before } = this.window;
    if (before !== undefined) this.disconnect(before);
    this.#stored?.restart();
    this.window.open(receiver);
    this.#services.routes.connected();
    this.#paceReplay();
    this.wake();
    this.#options.onConnection?.();
  }

  /** Ends a connection; unacknowledged messages are sent to the next one. */
  disconnect(receiver: Receiver): void {
    if (this.window.receiver !== receiver) return;
    this.window.close();
    this.#stored?.restart();
    this.#options.onConnection?.();
  }

  /** Reads the queues again: they hold unannounced entries, or have changed since they were read. */
  restart(): void {
    if (!this.isConnected || this.#stored === undefined) return;
    this.#stored.restart();
    this.window.replay?.openLanes();
    this.#services.pumpLater(this);
  }

  /** Handles an acknowledgement by packet identifier. Returns whether its message was in flight. */
  acknowledge(messageId: number, isRefused = false): boolean {
    const wasInFlight = this.window.acknowledge(messageId, isRefused);
    if (wasInFlight) this.#services.pumpLater(this);
    return wasInFlight;
  }

  /**
   * Turns a message that the receiver will never take into a dead letter.
   *
   * Call the returned function once the dead letter is stored: it skips the message, which counts as dropped. It works
   * on a later connection too: some brokers close the connection on which they reject a message.
   */
  deadLetter(messageId: number): () => void {
    return this.window.deadLetter(messageId);
  }

  offer(entry: LogEntry): void {
    if (!this.isConnected) return;
    (this.#stored ?? this.#memory).offer(entry);
    if (entry.log === 'alarms') this.window.replay?.accepted(entry);
    this.#services.pumpLater(this);
  }

  offerAtQos0(entry: LogEntry): void {
    this.window.sendNow(messageOf(entry, this.#services));
  }

  /** Drops the oldest messages beyond this many bytes; alarms leave only by age. */
  async cutBacklog(maxBytes: number): Promise<void> {
    if (this.#stored === undefined) this.#memory.cutMessages(maxBytes);
    else await this.#bound(maxBytes);
  }

  /** Expires entries that are too old, and drops the oldest messages beyond the bounds. */
  keepBounds(): Promise<void> {
    if (this.#stored === undefined) return Promise.resolve();
    this.#bounding ??= this.#bound(this.#limits.maxQueuedBytes)
      .catch(this.#options.onReadFailure)
      .finally(() => {
        this.#bounding = undefined;
      });
    return this.#bounding;
  }

  /**
   * Reads the queues again if the store has more in them than the connection knows.
   *
   * The last resort: an acknowledgement lost in a failover leaves its item in the queue.
   */
  readForgotten(): void {
    const stored = this.#stored;
    if (stored === undefined || !this.isConnected) return;
    if (LOG_NAMES.some((log) => stored.isDone(log) && this.#backlog[log] > 0)) this.restart();
    else this.wake();
  }

  /** Sends a message at QoS 0. Returns whether the connection took it. */
  offerCopy(message: DirectMessage): boolean {
    return this.window.sendNow(message);
  }

  /** Sends a message outside the queues, if permitted. Drops it if nobody is connected. */
  offerDirect(message: DirectMessage, qos: QoS): void {
    if (!this.isConnected || !this.mayReceive(message)) return;
    if (qos === 1 && message.qos === 1) {
      this.window.direct.add(message);
      this.#services.pumpLater(this);
    } else this.window.sendNow(message);
  }

  /** Sends the retained messages of new subscriptions, as fast as the connection takes them. */
  offerRetained(filters: readonly string[], retained: RetainedFeedOptions['retained']): void {
    if (!this.isConnected) return;
    this.window.direct.addRetained(filters, {
      retained,
      select: (message) => {
        const qos = this.subscriptions.qosFor(message.topic);
        if (qos === undefined || !this.mayReceive(message)) return undefined;
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
    const nowMs = this.#services.now();
    if (this.window.inFlightCount > 0) this.#offeredAtMs = nowMs;
    this.window.fill(this.#limits.maxInFlight, nowMs - this.#limits.maxAgeMs);
    for (const group of this.carried) group.wake();
  }

  async #bound(maxMessageBytes: number): Promise<void> {
    const { now, lost } = this.#services;
    const { maxAgeMs, maxQueued: maxMessages } = this.#limits;
    const oldestMs = now() - maxAgeMs;
    const bounded = await this.#stored?.keepBounds({ oldestMs, maxMessages, maxMessageBytes });
    if (bounded === undefined) return;
    if (bounded.lost > 0) lost('alarms', bounded.lost);
    this.#backlog = bounded.backlog;
  }

  /** Replays the backlog at the pace that the limits set, if any. */
  #paceReplay(): void {
    const { replayPerSecond: perSecond } = this.#limits;
    this.window.replay?.end();
    this.window.replay = undefined;
    if (perSecond === undefined || this.#stored === undefined) return;
    const backlog = this.#backlog;
    const { onReadFailure } = this.#options;
    const onReady = () => this.wake();
    this.window.replay = this.#stored.replay({ perSecond, backlog, onReady, onReadFailure });
  }
}
