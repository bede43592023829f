import type { Audience } from '../domain/grants.js';
import type { ConsumerLimits, ConsumerOptions, ConsumerServices } from './consumer-options.js';
import type { DirectMessage } from './direct-queue.js';
import { LOG_NAMES, type LogEntry, messageOf } from './log/log-entry.js';
import { NO_ACCOUNTS, type Queued } from './queues/account.js';
import { memoryQueues } from './queues/memory-queue.js';
import { type Accounts, type Backlog, NO_BACKLOG } from './queues/queue-store.js';
import { Replay } from './queues/replay.js';
import { storedQueues } from './queues/stored-queue.js';
import type { Receiver } from './receiver.js';
import type { RetainedFeedOptions } from './retained/retained-feed.js';
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
export class Consumer {
  readonly name: string;
  readonly key: string | undefined;
  readonly session: string;
  readonly subscriptions: Subscriptions;
  readonly mayReceive: (audience: Audience) => boolean;
  /** The queues in the store; undefined for a clean session. */
  readonly #stored: ReturnType<typeof storedQueues> | undefined;
  readonly #memory: ReturnType<typeof memoryQueues>;
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
    this.#memory = memoryQueues({ maxMessages, mayReceive, now: services.now });
    if (key !== undefined) {
      const onBacklog = (backlog: Partial<Backlog>) => this.noteBacklog(backlog);
      this.#stored = storedQueues({ key, services, mayReceive, maxMessages, onBacklog });
    }
    this.window = new SendingWindow({
      queues: this.#stored ?? this.#memory,
      services,
      qosFor: (topic, publisher) => {
        if (!subscriptions.hasQos0) return 1;
        // Without a filter, since it has unsubscribed, as it was queued.
        return subscriptions.qosFor(topic, publisher === this.session) ?? 1;
      },
      forwardingFor: (topic, publisher) =>
        subscriptions.forwardingFor(topic, publisher === this.session),
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
    return LOG_NAMES.reduce((sum, log) => {
      const stored = this.#stored?.[log];
      if (stored === undefined) return sum + this.#memory[log].readyCount;
      const behind = this.#backlog[log] - this.window.countOf(log);
      return sum + (stored.isLive ? stored.readyCount : Math.max(0, behind));
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
    if (this.#stored !== undefined) return this.#backlog;
    const { alarms, messages } = this.#memory;
    return { alarms: alarms.queuedCount, messages: messages.queuedCount };
  }

  /** Bytes of waiting messages; alarms do not count. */
  get backlogBytes(): number {
    return this.#stored === undefined
      ? this.#memory.messages.readyBytes
      : this.#backlog.messageBytes;
  }

  /** The accounts; for a durable consumer as last read from the store. */
  get accounts(): Accounts {
    if (this.#stored !== undefined) return this.#storedAccounts;
    const { alarms, messages } = this.#memory;
    return { alarms: alarms.account, messages: messages.account };
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

  /** The same of the oldest waiting alarm. */
  async oldestAlarmAtMs(): Promise<number | undefined> {
    const { key } = this;
    return key === undefined
      ? undefined
      : this.#services.queues.oldestReceivedAtMs(key, ['alarms']);
  }

  /** Sends to this connection, beginning with unacknowledged messages. */
  connect(receiver: Receiver): void {
    // A connection that was taken over no longer acknowledges [MQTT-3.1.4-2].
    const { receiver: before } = this.window;
    if (before !== undefined) this.disconnect(before);
    this.#restartQueues();
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
    this.#restartQueues();
    this.#options.onConnection?.();
  }

  /** Reads the queues again: they hold unannounced entries, or have changed since they were read. */
  restart(): void {
    if (!this.isConnected || this.#stored === undefined) return;
    this.#restartQueues();
    this.window.replay?.openLanes();
    this.#services.pumpLater(this);
  }

  /** Handles an acknowledgement by packet identifier. Returns whether its message was in flight. */
  acknowledge(messageId: number, isRefused = false): boolean {
    const wasInFlight = this.window.acknowledge(messageId, isRefused);
    if (wasInFlight) this.#services.pumpLater(this);
    return wasInFlight;
  }

  offer(entry: LogEntry): void {
    if (!this.isConnected) return;
    (this.#stored ?? this.#memory)[entry.log].offer(entry);
    if (entry.log === 'alarms') this.window.replay?.accepted(entry);
    this.#services.pumpLater(this);
  }

  offerAtQos0(entry: LogEntry): void {
    this.window.sendNow(messageOf(entry, this.#services));
  }

  /** Drops the oldest messages beyond this many bytes; alarms leave only by age. */
  async cutBacklog(maxBytes: number): Promise<void> {
    if (this.#stored === undefined) this.#memory.messages.cut(Number.POSITIVE_INFINITY, maxBytes);
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
    if (LOG_NAMES.some((log) => stored[log].isDone && this.#backlog[log] > 0)) this.restart();
    else this.wake();
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

  #restartQueues(): void {
    for (const log of LOG_NAMES) this.#stored?.[log].restart();
  }

  async #bound(maxMessageBytes: number): Promise<void> {
    const { now, lost } = this.#services;
    const { maxAgeMs, maxQueued: maxMessages } = this.#limits;
    const oldestMs = now() - maxAgeMs;
    const bounded = await this.#stored?.messages.keepBounds({
      oldestMs,
      maxMessages,
      maxMessageBytes,
    });
    if (bounded === undefined) return;
    if (bounded.lost > 0) lost('alarms', bounded.lost);
    this.#backlog = bounded.backlog;
  }

  /** Replays the backlog at the pace that the limits set, if any. */
  #paceReplay(): void {
    const { replayPerSecond: perSecond } = this.#limits;
    const alarms = this.#stored?.alarms;
    this.window.replay?.end();
    this.window.replay = undefined;
    if (perSecond === undefined || alarms === undefined) return;
    const onReady = () => this.wake();
    const [backlog, services] = [this.#backlog, this.#services];
    const { onReadFailure } = this.#options;
    const pace = { perSecond, backlog, onReady, onReadFailure };
    this.window.replay = new Replay({ ...pace, alarms, services });
  }
}
