import type { Audience } from '../domain/grants.js';
import type { RetainedSource } from './direct-queue.js';
import type { Entry, LogName, Message, Receiver, SendingServices } from './message.js';
import {
  type Account,
  type Accounts,
  EMPTY_ACCOUNT,
  judgeEntry,
  MemoryQueue,
  type QueuePage,
  type QueueSource,
  type QueueStore,
  StoredQueue,
} from './queue.js';
import type { QoS, Subscriptions } from './sessions/subscriptions.js';
import type { SettledQueue, Settler } from './settler.js';
import { Window } from './window.js';

/** A consumer that was sent nothing for this long has nothing to read. */
const READING_FOR_MS = 1_000;
/** A consumer that takes longer to acknowledge is itself slow. */
const PROMPT_WITHIN_MS = 100;
/** Bounds of the alarms of one clean session, whose queues are in memory. */
const MAX_ALARMS = 20_000;
const MAX_ALARM_BYTES = 16 * 1024 * 1024;

/**
 * One receiver of forwarded messages: subscriptions, two queues, and the window of its connection.
 *
 * While absent, it costs nothing but its telemetry. While behind, it reads its queue of alarms in the store. While live,
 * it gets new entries.
 */
export class Consumer {
  readonly name: string;
  /** The name of its queue in the store; undefined for a clean session. */
  readonly key: string | undefined;
  readonly session: string;
  readonly subscriptions: Subscriptions;
  readonly mayReceive: (audience: Audience) => boolean;
  readonly #alarms: StoredQueue | MemoryQueue;
  readonly #messages: MemoryQueue;
  readonly #services: ConsumerServices;
  readonly #options: ConsumerOptions;
  readonly window: Window;
  /** The consumers of groups whose messages go over this consumer's connection. */
  readonly carried = new Set<Consumer>();
  limits: ConsumerLimits;
  /** How many alarms wait, as last reported by the store. */
  #backlog = 0;
  #account: Account = EMPTY_ACCOUNT;
  #offeredAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: ConsumerOptions) {
    this.#options = options;
    const { name, key, services, subscriptions, mayReceive, limits } = options;
    this.#services = services;
    this.limits = limits;
    this.name = name;
    this.key = key;
    this.session = options.session;
    this.subscriptions = subscriptions;
    this.mayReceive = mayReceive;
    const judge = (entry: Entry, oldestMs: number) =>
      judgeEntry(entry, oldestMs, services.now(), mayReceive);
    const onUnsent = (entry: Entry) => this.window.forget(entry);
    this.#alarms = this.#alarmQueue(judge);
    this.#messages = new MemoryQueue({
      judge,
      onUnsent,
      isKept: key !== undefined,
      maxCount: () => this.limits.maxQueued,
      maxBytes: () => this.limits.maxQueuedBytes,
    });
    this.window = new Window({
      queues: { alarms: this.#alarms, messages: this.#messages },
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
      onSendFailure: options.onSendFailure,
    });
  }

  get isConnected(): boolean {
    return this.window.receiver !== undefined;
  }

  /**
   * Whether the consumer gets messages and acknowledges them promptly: then the gateway itself causes its lag.
   */
  get isPrompt(): boolean {
    const isBusy = this.isConnected && this.#services.now() - this.#offeredAtMs < READING_FOR_MS;
    return isBusy && this.window.roundTripMs < PROMPT_WITHIN_MS;
  }

  /** How many entries are still unsent, as far as known. */
  get lag(): number {
    const ready = this.#messages.readyCount + this.#alarms.readyCount;
    const isBehind = this.key !== undefined && this.#stored?.isLive === false;
    return isBehind ? Math.max(ready, this.#backlog - this.window.countOf('alarms')) : ready;
  }

  /** How many entries wait, including those in flight; alarms of a durable consumer as last reported by the store. */
  get queued(): Readonly<Record<LogName, number>> {
    const inMemory = this.#alarms.readyCount + this.window.countOf('alarms');
    const alarms = this.key === undefined ? inMemory : this.#backlog;
    return { alarms, messages: this.#messages.count };
  }

  /** The accounts; of the alarms of a durable consumer as last read from the store. */
  get accounts(): Accounts {
    const alarms = this.#alarms instanceof MemoryQueue ? this.#alarms.account : this.#account;
    return { alarms, messages: this.#messages.account };
  }

  /** Notes the account that the store reports. */
  noteAccount(account: Account): void {
    this.#account = account;
    this.#backlog = account.queued;
  }

  noteBacklog(queued: number): void {
    this.#backlog = queued;
  }

  /** Reads the queue again: it was mended, and may have lost entries. */
  mended(queued: number): void {
    const lost = this.#backlog - queued;
    if (lost > 0) this.#services.lost(lost);
    this.#backlog = queued;
    this.restart();
  }

  /** When the oldest waiting entry was received, by the steady clock; undefined for empty queues. */
  async oldestReceivedAtMs(): Promise<number | undefined> {
    const times = [await this.oldestAlarmAtMs(), this.#messages.oldestReceivedAtMs];
    const known = times.filter((timeMs) => timeMs !== undefined);
    return known.length === 0 ? undefined : Math.min(...known);
  }

  /** The same of the oldest waiting alarm of a durable consumer. */
  async oldestAlarmAtMs(): Promise<number | undefined> {
    return this.key === undefined ? undefined : this.#services.queues.oldestReceivedAtMs(this.key);
  }

  /** Sends to this connection, beginning with unacknowledged messages. */
  connect(receiver: Receiver): void {
    // A connection that was taken over no longer acknowledges [MQTT-3.1.4-2].
    const { receiver: before } = this.window;
    if (before !== undefined) this.disconnect(before);
    this.#stored?.restart();
    this.window.open(receiver);
    this.wake();
    this.#options.onConnection?.();
  }

  /** Ends a connection; unacknowledged messages are sent to the next one. */
  disconnect(receiver: Receiver): void {
    if (this.window.receiver !== receiver) return;
    for (const entry of this.window.close()) this.#stored?.released(entry);
    this.#alarms.restart();
    this.#messages.restart();
    this.#options.onConnection?.();
  }

  /** Reads the queue again: it holds unannounced entries, or has changed since it was read. */
  restart(): void {
    if (!this.isConnected || this.#stored === undefined) return;
    this.#stored.restart();
    this.#services.pumpLater(this);
  }

  /** Handles an acknowledgement by packet identifier. Returns whether its message was in flight. */
  acknowledge(messageId: number, isRefused = false): boolean {
    const wasInFlight = this.window.acknowledge(messageId, isRefused);
    if (wasInFlight) this.#services.pumpLater(this);
    return wasInFlight;
  }

  /** Takes an entry that is in its queue in the store, or that waits in memory. */
  offer(entry: Entry): void {
    if (entry.log === 'messages') this.#messages.offer(entry);
    else if (this.isConnected) this.#alarms.offer(entry);
    if (this.isConnected) this.#services.pumpLater(this);
  }

  offerAtQos0(entry: Entry): void {
    this.window.sendNow(entry);
  }

  /** Takes entries off that are too old. */
  async expire(): Promise<void> {
    const oldestMs = this.#services.now() - this.limits.maxAgeMs;
    this.#messages.expire(oldestMs);
    if (this.key === undefined || this.#backlog === 0) return;
    const expired = await this.#services.queues.expire(this.key, oldestMs);
    if (expired === undefined) return;
    if (expired.lost > 0) this.#services.lost(expired.lost);
    this.#backlog = expired.queued;
  }

  /**
   * Reads the queue again if the store has more in it than the connection knows.
   *
   * The last resort: an acknowledgement lost in a failover leaves its entry in the queue.
   */
  readForgotten(): void {
    if (this.#stored === undefined || !this.isConnected) return;
    if (this.#stored.isDone && this.#backlog > 0) this.restart();
    else this.wake();
  }

  /** Sends a message outside the queues, if permitted. Drops it if nobody is connected. */
  offerDirect(message: Message, qos: QoS): void {
    if (!this.isConnected || !this.mayReceive(message)) return;
    if (qos === 0 || message.qos === 0) this.window.sendNow(message);
    else {
      this.window.direct.add(message);
      this.#services.pumpLater(this);
    }
  }

  /** Sends the retained messages of new subscriptions, as fast as the connection takes them. */
  offerRetained(
    filters: readonly string[],
    retained: Pick<RetainedSource, 'matching' | 'later'>,
  ): void {
    if (!this.isConnected) return;
    this.window.direct.addRetained(filters, {
      matching: (some) => retained.matching(some),
      later: (resume) => retained.later(resume),
      onMore: () => this.wake(),
      select: (message) => {
        const qos = this.subscriptions.qosFor(message.topic);
        if (qos === undefined || !this.mayReceive(message)) return undefined;
        return qos === 0 ? { ...message, qos } : message;
      },
      isSubscribed: (filter) => this.subscriptions.has(filter),
    });
    this.#services.pumpLater(this);
  }

  /** Sends as much as the window allows. */
  wake(): void {
    if (!this.isConnected) return;
    const nowMs = this.#services.now();
    if (this.window.inFlightCount > 0) this.#offeredAtMs = nowMs;
    this.window.fill(this.limits.maxInFlight, nowMs - this.limits.maxAgeMs);
    for (const group of this.carried) group.wake();
  }

  get #stored(): StoredQueue | undefined {
    return this.#alarms instanceof StoredQueue ? this.#alarms : undefined;
  }

  /** In the store for a session that is kept, from the history after a position, or in memory. */
  #alarmQueue(judge: QueueSource['judge']): StoredQueue | MemoryQueue {
    const { key, begun, services, history, subscriptions } = this.#options;
    const { queues, settler, lastAnnounced } = services;
    if (key !== undefined) {
      const settled: SettledQueue = { key, settled: (...args) => this.#settled(...args) };
      return new StoredQueue({
        start: () => 0,
        page: async (after, count) => {
          await begun;
          return queues.page(key, after, count);
        },
        lastAnnounced,
        judge,
        settle: (sequence, outcome) => {
          if (outcome === 'lost') services.lost(1);
          this.window.forget(sequence);
          settler.add(settled, outcome, sequence);
        },
      });
    }
    if (history !== undefined) {
      let reached = history.after;
      const queue: StoredQueue = new StoredQueue({
        start: () => reached,
        page: history.page,
        lastAnnounced,
        judge: (entry) => {
          const isWanted = subscriptions.qosFor(entry.topic) !== undefined;
          return isWanted && this.mayReceive(entry) ? undefined : 'forbidden';
        },
        settle: (sequence) => {
          reached = Math.max(reached, sequence);
          queue.settled([sequence]);
        },
      });
      return queue;
    }
    const [maxCount, maxBytes] = [() => MAX_ALARMS, () => MAX_ALARM_BYTES];
    const onUnsent = () => undefined;
    return new MemoryQueue({ judge, onUnsent, isKept: false, maxCount, maxBytes });
  }

  #settled(sequences: readonly number[], queued: number | undefined): void {
    this.#stored?.settled(sequences);
    if (queued !== undefined) this.#backlog = queued;
  }
}

/** A consumer whose queue of alarms is in the store. */
export type DurableConsumer = Consumer & { readonly key: string };

export function isDurable(consumer: Consumer): consumer is DurableConsumer {
  return consumer.key !== undefined;
}

/** A consumer's in-flight limit and the bounds of its backlog. */
export interface ConsumerLimits {
  /** Messages at QoS 1 that may await acknowledgement at the same time. */
  readonly maxInFlight: number;
  /** Messages other than alarms that may wait in memory, including those in flight. */
  readonly maxQueued: number;
  /** Bytes of those messages: payload and properties. */
  readonly maxQueuedBytes: number;
  /** Maximum age of both alarms and messages. */
  readonly maxAgeMs: number;
}

/** The parts that all consumers share. */
export interface ConsumerServices extends SendingServices {
  readonly queues: QueueStore;
  readonly settler: Settler;
  /** The number of the newest announced entry. */
  readonly lastAnnounced: () => number;
  /** Wakes a consumer once, after the events now being handled. */
  readonly pumpLater: (consumer: Consumer) => void;
  /** The steady clock. */
  readonly now: () => number;
  /** Called when a message outside the queues is larger than a client takes. */
  readonly leftOut: () => void;
  /** Called with the number of entries that a consumer accepted and the store has lost. */
  readonly lost: (count: number) => void;
}

/** Where the alarms of a clean session begin, if not with the next one: in the history, after a number. */
export interface HistorySource {
  readonly after: number;
  readonly page: (after: number, count: number) => Promise<QueuePage>;
}

export interface ConsumerOptions {
  /** The name in metrics: the client id of a session. */
  readonly name: string;
  /** `sessionKey` of its session. */
  readonly session: string;
  /** The name of its queue in the store; undefined for a clean session, whose queues end with its connection. */
  readonly key: string | undefined;
  /** Resolves once the queue is its own: what an ended session has left there may still have to be deleted. */
  readonly begun?: Promise<unknown> | undefined;
  readonly history?: HistorySource | undefined;
  readonly services: ConsumerServices;
  readonly subscriptions: Subscriptions;
  /** Whether the principal may see messages about this audience. */
  readonly mayReceive: (audience: Audience) => boolean;
  readonly limits: ConsumerLimits;
  /** Called when it connects and when it disconnects. */
  readonly onConnection?: (() => void) | undefined;
  /** Called when the store cannot be read. The consumer is woken again later. */
  readonly onReadFailure: (error: unknown) => void;
  /** Called when a message cannot be written, and is left out. */
  readonly onSendFailure: (error: unknown) => void;
}
