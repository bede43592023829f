import { hasExpired } from '../../mqtt/message-properties.js';
import type { ConsumerServices } from '../consumer-options.js';
import type { LogEntry, LogName } from '../log/log-entry.js';
import type { Queue } from './queue.js';
import type {
  Backlog,
  Bounded,
  Outcome,
  QueueBounds,
  QueuedItem,
  QueuePage,
} from './queue-store.js';
import { ReadyEntries } from './ready-entries.js';
import type { Settled } from './settler.js';

const PAGE_ENTRIES = 500;
/** The next page is read when fewer entries than this are left to send. */
const READ_AHEAD_ENTRIES = 250;
/** Entries beyond these bounds are read from the store later. */
const MAX_READY_ENTRIES = 5_000;
const MAX_READY_BYTES = 4 * 1024 * 1024;
const NOTHING = { length: 0 };

interface StoredQueueOptions {
  /** The name of the destination in the store. */
  readonly key: string;
  readonly log: LogName;
  readonly services: Pick<
    ConsumerServices,
    'queues' | 'settler' | 'lastAnnounced' | 'lost' | 'now' | 'tail'
  >;
  readonly mayReceive: (entry: LogEntry) => boolean;
  /** How many entries may be ready, if fewer than `MAX_READY_ENTRIES`. */
  readonly maxReady: () => number;
  /** Called with each backlog that the store reports. */
  readonly onBacklog: (backlog: Partial<Backlog>) => void;
}

export interface StoredQueuesOptions extends Omit<StoredQueueOptions, 'log' | 'maxReady'> {
  /** How many messages may wait. */
  readonly maxMessages: () => number;
}

/** The queues of a durable consumer. */
export function storedQueues(options: StoredQueuesOptions): Readonly<Record<LogName, StoredQueue>> {
  const { maxMessages } = options;
  const maxAlarms = () => Number.POSITIVE_INFINITY;
  return {
    alarms: new StoredQueue({ ...options, log: 'alarms', maxReady: maxAlarms }),
    messages: new StoredQueue({ ...options, log: 'messages', maxReady: maxMessages }),
  };
}

/**
 * A queue of a durable consumer, in the store: read in pages while behind, from announcements while live.
 *
 * It goes live once a page reaches the end of the queue, and adds what was announced during that read. It
 * falls behind when too much is ready: everything is in the queue anyway.
 */
export class StoredQueue implements Queue, Settled {
  readonly key: string;
  readonly log: LogName;
  readonly #options: StoredQueueOptions;
  readonly #ready = new ReadyEntries();
  /** Items in flight, and acknowledged ones not yet settled. */
  readonly #taken = new Set<number>();
  /** Items taken ahead, whose turn is still to come. */
  readonly #ahead = new Set<number>();
  /** Items settled while a page is being read. */
  readonly #settledMeanwhile = new Set<number>();
  /** Entries announced while a page is being read; undefined when there are too many. */
  #meanwhile: LogEntry[] | undefined = [];
  /** The last item that became ready or was passed over; 0 for none. */
  #lastLoaded = 0;
  #turn = 0;
  #isLive = false;
  #isLoading = false;
  /** Rises on each restart: a page requested before is not used. */
  #run = 0;
  /** The last read or cut: a page must not hold messages being dropped. */
  #lastTurn: Promise<unknown> = Promise.resolve();

  constructor(options: StoredQueueOptions) {
    this.#options = options;
    this.key = options.key;
    this.log = options.log;
  }

  /** The last item taken in its turn; 0 for none. */
  get turn(): number {
    return this.#turn;
  }

  get isLive(): boolean {
    return this.#isLive;
  }

  get isLoading(): boolean {
    return this.#isLoading;
  }

  /** How many known entries wait to be sent. A queue not read to its end may hold more. */
  get readyCount(): number {
    return this.#ready.count;
  }

  get wantsPage(): boolean {
    return !this.#isLive && !this.#isLoading && this.#ready.count < READ_AHEAD_ENTRIES;
  }

  /** Whether the connection has been sent everything and has acknowledged it. */
  get isDone(): boolean {
    return this.#isLive && this.#ready.count === 0 && this.#taken.size === 0;
  }

  /** Starts again at the head: everything not taken will be sent. */
  restart(): void {
    this.#run++;
    this.#ahead.clear();
    this.#ready.clear();
    this.#turn = 0;
    this.#lastLoaded = 0;
    this.#isLive = false;
    this.#meanwhile = [];
  }

  /** Offers an entry just pushed onto the queue. */
  offer(entry: LogEntry): void {
    if (this.#isLive) this.#add(entry);
    else if (this.#isLoading && this.#meanwhile !== undefined) {
      this.#meanwhile.push(entry);
      if (this.#meanwhile.length > MAX_READY_ENTRIES) this.#meanwhile = undefined;
    }
  }

  take(oldestMs: number): LogEntry | 'not-loaded' | 'caught-up' {
    for (let entry = this.#ready.shift(); entry !== undefined; entry = this.#ready.shift()) {
      this.#turn = entry.item;
      if (this.#ahead.size > 0 && this.#ahead.delete(entry.item)) continue;
      if (!this.#isToSend(entry, oldestMs)) continue;
      this.#taken.add(entry.item);
      return entry;
    }
    return this.#isLive ? 'caught-up' : 'not-loaded';
  }

  takeAhead(entry: LogEntry, oldestMs: number): boolean {
    if (this.#taken.has(entry.item) || this.#ahead.has(entry.item)) return false;
    this.#ahead.add(entry.item);
    if (!this.#isToSend(entry, oldestMs)) return false;
    this.#taken.add(entry.item);
    return true;
  }

  async load(): Promise<void> {
    this.#isLoading = true;
    try {
      await this.#inTurn(() => this.#loadPage());
    } finally {
      this.#isLoading = false;
      this.#settledMeanwhile.clear();
    }
  }

  /**
   * Takes off whatever exceeds the bounds, in the queue of alarms as well, except entries being sent.
   *
   * @returns undefined when the destination is gone
   */
  async keepBounds(bounds: QueueBounds): Promise<Bounded | undefined> {
    const { key, log, services } = this.#options;
    const upTo = services.lastAnnounced(log);
    for (let lost = 0; ; ) {
      const bounded = await this.#inTurn(() =>
        services.queues.keepBounds(key, bounds, { after: this.#lastLoaded, upTo }),
      );
      lost += bounded?.lost ?? 0;
      if (bounded?.hasMore !== true) return bounded && { ...bounded, lost };
    }
  }

  settle(entry: LogEntry, outcome: Outcome): void {
    this.#options.services.settler.add(this, outcome, entry);
  }

  released(entry: LogEntry): void {
    this.#taken.delete(entry.item);
  }

  settled(items: readonly QueuedItem[], backlog: Backlog | undefined): void {
    for (const { item } of items) this.#taken.delete(item);
    // A page being read may still have them.
    if (this.#isLoading) for (const { item } of items) this.#settledMeanwhile.add(item);
    if (backlog === undefined) return;
    const { alarms, messages, messageBytes } = backlog;
    this.#options.onBacklog(this.log === 'alarms' ? { alarms } : { messages, messageBytes });
  }

  async #loadPage(): Promise<void> {
    const { key, log, services } = this.#options;
    const run = this.#run;
    this.#meanwhile = [];
    const after = this.#lastLoaded;
    const page = await services.queues.page(log, key, after, PAGE_ENTRIES, services.tail);
    if (run === this.#run) this.#addPage(page);
  }

  #addPage({ entries, missing, isEnd }: QueuePage): void {
    // A failover may still lose an entry that is not announced.
    const last = this.#options.services.lastAnnounced(this.log);
    const announced = entries.filter(({ sequence }) => sequence <= last);
    for (const entry of announced) {
      this.#lastLoaded = Math.max(this.#lastLoaded, entry.item);
      const isTaken = this.#taken.has(entry.item) || this.#settledMeanwhile.has(entry.item);
      if (!isTaken) this.#ready.push(entry);
    }
    if (missing.length > 0) {
      this.#lastLoaded = Math.max(this.#lastLoaded, ...missing);
      this.#lose(missing);
    }
    // The entries after the last announced one will be announced too.
    const isAtEnd = isEnd || announced.length < entries.length;
    const meanwhile = this.#meanwhile;
    this.#meanwhile = [];
    if (!isAtEnd || meanwhile === undefined) return;
    this.#isLive = true;
    for (const entry of meanwhile) this.#add(entry);
  }

  /** Adds an entry while live; falls behind if it has no room. */
  #add(entry: LogEntry): void {
    if (!this.#isLive || entry.item <= this.#lastLoaded) return;
    const maxReady = Math.min(MAX_READY_ENTRIES, this.#options.maxReady());
    if (this.#ready.count >= maxReady || this.#ready.bytes >= MAX_READY_BYTES) {
      this.#isLive = false;
      return;
    }
    this.#lastLoaded = entry.item;
    this.#ready.push(entry);
  }

  /** Settles items whose record is gone. */
  #lose(items: readonly number[]): void {
    const { lost, settler } = this.#options.services;
    lost(this.log, items.length);
    for (const item of items) settler.add(this, 'lost', { item, payload: NOTHING });
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
}
