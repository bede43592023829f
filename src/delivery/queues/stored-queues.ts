import { hasExpired } from '../../mqtt/message-properties.js';
import type { ConsumerServices } from '../consumer-options.js';
import { LOG_NAMES, type LogEntry, type LogName } from '../log/log-entry.js';
import { QueueReader } from './queue-reader.js';
import type { Backlog, Bounded, Outcome, QueueBounds, QueuedItem } from './queue-store.js';
import type { Queues } from './queues.js';
import { Replay, type ReplayOptions } from './replay.js';
import type { Settled } from './settler.js';

const NOTHING = { length: 0 };

export interface StoredQueuesOptions {
  /** The name of the destination in the store. */
  readonly key: string;
  readonly services: Pick<
    ConsumerServices,
    'queues' | 'settler' | 'lastAnnounced' | 'lost' | 'now' | 'tail'
  >;
  readonly mayReceive: (entry: LogEntry) => boolean;
  /** How many messages may wait. */
  readonly maxMessages: () => number;
  /** Called with each backlog that the store reports. */
  readonly onBacklog: (backlog: Partial<Backlog>) => void;
}

/** The queues of a durable consumer, in the store. */
export class StoredQueues implements Queues, Settled {
  readonly key: string;
  readonly #options: StoredQueuesOptions;
  readonly #readers: Readonly<Record<LogName, QueueReader>>;
  /** Items in flight, and acknowledged ones not yet settled. */
  readonly #taken: Readonly<Record<LogName, Set<number>>> = {
    alarms: new Set(),
    messages: new Set(),
  };
  /** Alarms taken ahead, whose turn is still to come. */
  readonly #ahead = new Set<number>();
  #turn = 0;
  readonly #loading = new Set<LogName>();
  /** Items settled while pages are being read. */
  readonly #settledMeanwhile = new Set<number>();
  /** The last read or cut of the messages: a page must not hold messages being dropped. */
  #lastTurn: Promise<unknown> = Promise.resolve();

  constructor(options: StoredQueuesOptions) {
    this.#options = options;
    this.key = options.key;
    this.#readers = { alarms: this.#reader('alarms'), messages: this.#reader('messages') };
  }

  /** The last alarm taken in its turn; 0 for none. */
  get turn(): number {
    return this.#turn;
  }

  /** Sends the backlog at a set pace. */
  replay(
    options: Pick<ReplayOptions, 'perSecond' | 'backlog' | 'onReady' | 'onReadFailure'>,
  ): Replay {
    const { queues: store, tail, now } = this.#options.services;
    const turn = () => this.turn;
    return new Replay({ ...options, destination: this.key, store, tail, now, turn });
  }

  /** Starts again at the heads: everything not taken will be sent. */
  restart(): void {
    this.#ahead.clear();
    this.#turn = 0;
    for (const log of LOG_NAMES) this.#readers[log].restart();
  }

  offer(entry: LogEntry): void {
    this.#readers[entry.log].offer(entry);
  }

  take(log: LogName, oldestMs: number): LogEntry | 'not-loaded' | 'caught-up' {
    const reader = this.#readers[log];
    for (let entry = reader.next; entry !== undefined; entry = reader.next) {
      reader.shift();
      if (log === 'alarms') this.#turn = entry.item;
      if (this.#ahead.size > 0 && this.#ahead.delete(entry.item)) continue;
      if (!this.#isToSend(entry, oldestMs)) continue;
      this.#taken[log].add(entry.item);
      return entry;
    }
    return reader.isLive ? 'caught-up' : 'not-loaded';
  }

  takeAhead(alarm: LogEntry, oldestMs: number): boolean {
    const taken = this.#taken.alarms;
    if (taken.has(alarm.item) || this.#ahead.has(alarm.item)) return false;
    this.#ahead.add(alarm.item);
    if (!this.#isToSend(alarm, oldestMs)) return false;
    taken.add(alarm.item);
    return true;
  }

  wantsPage(log: LogName): boolean {
    return this.#readers[log].wantsPage && !this.isLoading(log);
  }

  isLoading(log: LogName): boolean {
    return this.#loading.has(log);
  }

  async load(log: LogName): Promise<void> {
    this.#loading.add(log);
    const read = () => this.#readers[log].load();
    await (log === 'alarms' ? read() : this.#inTurn(read)).finally(() => {
      this.#loading.delete(log);
      if (this.#loading.size === 0) this.#settledMeanwhile.clear();
    });
  }

  /**
   * Takes off whatever exceeds the bounds, except messages being sent.
   *
   * @returns undefined when the destination is gone
   */
  async keepBounds(bounds: QueueBounds): Promise<Bounded | undefined> {
    const { key, services } = this.#options;
    const upTo = services.lastAnnounced('messages');
    for (let lost = 0; ; ) {
      const bounded = await this.#inTurn(() => {
        const after = this.#readers.messages.lastLoaded;
        return services.queues.keepBounds(key, bounds, { after, upTo });
      });
      lost += bounded?.lost ?? 0;
      if (bounded?.hasMore !== true) return bounded && { ...bounded, lost };
    }
  }

  /** How many known entries wait to be sent. A queue not read to its end may hold more. */
  readyCount(log: LogName): number {
    return this.#readers[log].readyCount;
  }

  isLive(log: LogName): boolean {
    return this.#readers[log].isLive;
  }

  /** Whether the connection has been sent everything and has acknowledged it. */
  isDone(log: LogName): boolean {
    const reader = this.#readers[log];
    return reader.isLive && reader.readyCount === 0 && this.#taken[log].size === 0;
  }

  settle(entry: LogEntry, outcome: Outcome): void {
    this.#options.services.settler.add(this, entry.log, outcome, entry);
  }

  released(entry: LogEntry): void {
    this.#taken[entry.log].delete(entry.item);
  }

  settled(log: LogName, items: readonly QueuedItem[], backlog: Backlog | undefined): void {
    const taken = this.#taken[log];
    for (const { item } of items) taken.delete(item);
    // A page being read may still have them.
    if (this.#loading.has(log)) for (const { item } of items) this.#settledMeanwhile.add(item);
    if (backlog === undefined) return;
    const { alarms, messages, messageBytes } = backlog;
    this.#options.onBacklog(log === 'alarms' ? { alarms } : { messages, messageBytes });
  }

  /** Whether an entry is still wanted. Settles one that has expired or that its receiver may no longer see. */
  #isToSend(entry: LogEntry, oldestMs: number): boolean {
    const { receivedAtMs, properties } = entry;
    const isTooOld =
      receivedAtMs < oldestMs ||
      (properties !== undefined && hasExpired(properties, this.#options.services.now()));
    if (!isTooOld && this.#options.mayReceive(entry)) return true;
    this.settle(entry, isTooOld ? 'expired' : 'forbidden');
    return false;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#lastTurn.then(work);
    // The caller gets the error; the next turn still runs.
    this.#lastTurn = turn.catch(() => undefined);
    return turn;
  }

  #reader(log: LogName): QueueReader {
    const { key, services, maxMessages } = this.#options;
    return new QueueReader({
      page: (after, count) => services.queues.page(log, key, after, count, services.tail),
      isAnnounced: (sequence) => sequence <= services.lastAnnounced(log),
      maxReady: () => (log === 'alarms' ? Number.POSITIVE_INFINITY : maxMessages()),
      isTaken: (item) => this.#taken[log].has(item) || this.#settledMeanwhile.has(item),
      onMissing: (items) => {
        services.lost(log, items.length);
        for (const item of items)
          services.settler.add(this, log, 'lost', { item, payload: NOTHING });
      },
    });
  }
}
