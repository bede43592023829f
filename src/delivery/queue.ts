/**
 * The two sorts of queue that a consumer has: one in the store, which is read in pages while behind and fed from
 * announcements while live, and one in memory, which drops its oldest messages beyond its bounds.
 */
import { hasExpired } from '../mqtt/message-properties.js';
import { bytesOfMessage, type Entry, type LogName, ownPayload } from './message.js';

const PAGE_ENTRIES = 250;
/** The next page is read when fewer entries than this are left to send. */
const READ_AHEAD_ENTRIES = 125;
/** Entries beyond these bounds are read from the store later. */
const MAX_READY_ENTRIES = 5_000;
const MAX_READY_BYTES = 4 * 1024 * 1024;

/** The reasons, other than a bound, for which an entry is dropped. */
export const DROP_REASONS = ['refused', 'lost', 'forbidden', 'too-large'] as const;
export type DropReason = (typeof DROP_REASONS)[number];
export type Outcome = 'delivered' | 'expired' | DropReason;

/** The entries of a consumer, counted by their outcome: `accepted = delivered + queued + expired + dropped`. */
export interface Account {
  readonly accepted: number;
  readonly delivered: number;
  readonly queued: number;
  readonly expired: number;
  readonly dropped: number;
  /** The dropped entries that a bound did not drop, by reason. */
  readonly reasons: Readonly<Record<DropReason, number>>;
}
export type Accounts = Readonly<Record<LogName, Account>>;

export const EMPTY_ACCOUNT: Account = {
  accepted: 0,
  delivered: 0,
  queued: 0,
  expired: 0,
  dropped: 0,
  reasons: { refused: 0, lost: 0, forbidden: 0, 'too-large': 0 },
};

/** Entries of one destination with the same outcome. */
export interface Settlement {
  readonly destination: string;
  readonly outcome: Outcome;
  readonly sequences: readonly number[];
}

/** A part of a queue, in order. */
export interface QueuePage {
  readonly entries: readonly Entry[];
  /** Numbers of entries whose record is gone or unreadable. */
  readonly missing: readonly number[];
  /** The last number of the page; 0 for none. */
  readonly reached: number;
  /** Whether the queue ended here when it was read. */
  readonly isEnd: boolean;
}

/** The queues of durable consumers in the store. */
export interface QueueStore {
  /** Reads at most `count` entries after this number; 0: from the head. */
  page(destination: string, after: number, count: number): Promise<QueuePage>;
  /** Removes entries and counts what became of them. Resolves to how many wait; undefined for a destination that is gone. */
  settle(settlements: readonly Settlement[]): Promise<readonly (number | undefined)[]>;
  /**
   * Takes off entries received before this time, by the steady clock.
   *
   * @returns how many of them have lost their record, and how many entries wait; undefined for a destination that is gone
   */
  expire(
    destination: string,
    beforeMs: number,
  ): Promise<{ readonly lost: number; readonly queued: number } | undefined>;
  /** Undefined for a destination that is gone. */
  accounts(destinations: readonly string[]): Promise<readonly (Account | undefined)[]>;
  /** When the oldest entry was received, by the steady clock; undefined: there is none. */
  oldestReceivedAtMs(destination: string): Promise<number | undefined>;
}

/** A queue of a consumer, as its connection takes from it. */
export interface Queue {
  /** Whether a page is being read. */
  readonly isLoading: boolean;
  readonly wantsPage: boolean;
  /** Whether nothing is left to send. */
  readonly isSent: boolean;
  /** How many known entries wait to be sent. */
  readonly readyCount: number;
  /** Identifies an entry across connections; undefined for an entry that is sent only once. */
  nameOf(entry: Entry): unknown;
  /**
   * Takes the next entry to send; `not-loaded` when `load` must come first.
   *
   * @param oldestMs entries received before this expire
   */
  take(oldestMs: number): Entry | 'not-loaded' | undefined;
  /** Reads the next page. */
  load(): Promise<void>;
  /** Removes a taken entry and counts what became of it. */
  settle(entry: Entry, outcome: Outcome): void;
  /** Starts again with everything that is not settled. */
  restart(): void;
}

/** Where a stored queue comes from. */
export interface QueueSource {
  /** The number after which the queue begins; 0: at its head. */
  readonly start: () => number;
  /** Reads at most `count` entries after this number; 0: from the head. */
  page(after: number, count: number): Promise<QueuePage>;
  /** The number of the newest announced entry: a failover may still lose a later one. */
  readonly lastAnnounced: () => number;
  /** Whether an entry may still be sent; otherwise what becomes of it. */
  readonly judge: (entry: Entry, oldestMs: number) => Outcome | undefined;
  /** Called with entries that leave the queue. */
  readonly settle: (sequence: number, outcome: Outcome) => void;
}

/**
 * A queue in the store.
 *
 * It goes live once a page reaches the end of the queue, and adds what was announced during that read. It falls behind
 * when too much is ready: everything is in the queue anyway.
 */
export class StoredQueue implements Queue {
  readonly #source: QueueSource;
  readonly #ready = new Fifo();
  /** Numbers of entries in flight, and acknowledged ones not yet settled. */
  readonly #taken = new Set<number>();
  /** Numbers settled while a page is being read. */
  readonly #settledMeanwhile = new Set<number>();
  /** Entries announced while a page is being read; undefined when there are too many. */
  #meanwhile: Entry[] | undefined = [];
  /** The last number that became ready or was passed over; 0 for none. */
  #lastLoaded: number;
  #isLive = false;
  #isLoading = false;
  /** Rises on each restart: a page requested before is not used. */
  #run = 0;

  constructor(source: QueueSource) {
    this.#source = source;
    this.#lastLoaded = source.start();
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

  get isSent(): boolean {
    return this.#isLive && this.#ready.count === 0;
  }

  /** Whether the connection has been sent everything and has acknowledged it. */
  get isDone(): boolean {
    return this.isSent && this.#taken.size === 0;
  }

  nameOf({ sequence }: Entry): number {
    return sequence;
  }

  /** Starts again at the head: everything not taken will be sent. */
  restart(): void {
    this.#run++;
    this.#ready.clear();
    this.#lastLoaded = this.#source.start();
    this.#isLive = false;
    this.#meanwhile = [];
  }

  /** Notes that an entry in flight must be sent again. */
  released({ sequence }: Entry): void {
    this.#taken.delete(sequence);
  }

  /** Offers an entry just pushed onto the queue. */
  offer(entry: Entry): void {
    if (this.#isLive) this.#add(entry);
    else if (this.#isLoading && this.#meanwhile !== undefined) {
      this.#meanwhile.push(entry);
      if (this.#meanwhile.length > MAX_READY_ENTRIES) this.#meanwhile = undefined;
    }
  }

  take(oldestMs: number): Entry | 'not-loaded' | undefined {
    for (let entry = this.#ready.shift(); entry !== undefined; entry = this.#ready.shift()) {
      this.#taken.add(entry.sequence);
      const outcome = this.#source.judge(entry, oldestMs);
      if (outcome === undefined) return entry;
      this.settle(entry, outcome);
    }
    return this.#isLive ? undefined : 'not-loaded';
  }

  settle({ sequence }: Entry, outcome: Outcome): void {
    this.#source.settle(sequence, outcome);
  }

  /** Notes that the store has settled entries. */
  settled(sequences: readonly number[]): void {
    for (const sequence of sequences) this.#taken.delete(sequence);
    // A page being read may still have them.
    if (this.#isLoading) for (const sequence of sequences) this.#settledMeanwhile.add(sequence);
  }

  async load(): Promise<void> {
    this.#isLoading = true;
    const run = this.#run;
    this.#meanwhile = [];
    try {
      const page = await this.#source.page(this.#lastLoaded, PAGE_ENTRIES);
      if (run === this.#run) this.#addPage(page);
    } finally {
      this.#isLoading = false;
      this.#settledMeanwhile.clear();
    }
  }

  #addPage({ entries, missing, reached, isEnd }: QueuePage): void {
    const last = this.#source.lastAnnounced();
    const announced = entries.filter(({ sequence }) => sequence <= last);
    for (const entry of announced) {
      const isTaken = this.#taken.has(entry.sequence) || this.#settledMeanwhile.has(entry.sequence);
      if (!isTaken) this.#ready.push(entry);
    }
    // The entries after the last announced one will be announced too.
    const isCut = announced.length < entries.length;
    this.#lastLoaded = Math.max(
      this.#lastLoaded,
      isCut ? (announced.at(-1)?.sequence ?? 0) : Math.min(reached, last),
    );
    for (const sequence of missing) this.#source.settle(sequence, 'lost');
    const meanwhile = this.#meanwhile;
    this.#meanwhile = [];
    if (!(isEnd || isCut) || meanwhile === undefined) return;
    this.#isLive = true;
    for (const entry of meanwhile) this.#add(entry);
  }

  /** Adds an entry while live; falls behind if it has no room. */
  #add(entry: Entry): void {
    if (!this.#isLive || entry.sequence <= this.#lastLoaded) return;
    if (this.#ready.count >= MAX_READY_ENTRIES || this.#ready.bytes >= MAX_READY_BYTES) {
      this.#isLive = false;
      return;
    }
    this.#lastLoaded = entry.sequence;
    this.#ready.push(entry);
  }
}

export interface MemoryQueueOptions {
  readonly judge: (entry: Entry, oldestMs: number) => Outcome | undefined;
  readonly maxCount: () => number;
  readonly maxBytes: () => number;
  /** Whether it outlives the connection: what is in flight then is sent again. */
  readonly isKept: boolean;
  /** Called with an entry that leaves the queue unsent. */
  readonly onUnsent: (entry: Entry) => void;
}

/** A queue in memory. It drops the oldest entries when too much waits, and forgets everything with the gateway. */
export class MemoryQueue implements Queue {
  readonly isLoading = false;
  readonly wantsPage = false;
  readonly #options: MemoryQueueOptions;
  readonly #ready = new Fifo();
  /** In the order in which they were taken. */
  readonly #taken = new Set<Entry>();
  readonly #counts = { ...EMPTY_ACCOUNT, reasons: { ...EMPTY_ACCOUNT.reasons } };

  constructor(options: MemoryQueueOptions) {
    this.#options = options;
  }

  get readyCount(): number {
    return this.#ready.count;
  }

  get isSent(): boolean {
    return this.#ready.count === 0;
  }

  /** How many entries wait, including those in flight. */
  get count(): number {
    return this.#ready.count + this.#taken.size;
  }

  get account(): Account {
    const { reasons, ...counts } = this.#counts;
    return { ...counts, queued: this.count, reasons: { ...reasons } };
  }

  /** When the oldest entry was received; undefined for an empty queue. */
  get oldestReceivedAtMs(): number | undefined {
    const [taken] = this.#taken;
    return (taken ?? this.#ready.first)?.receivedAtMs;
  }

  nameOf(entry: Entry): Entry | undefined {
    return this.#options.isKept ? entry : undefined;
  }

  offer(entry: Entry): void {
    if (this.#options.isKept) ownPayload(entry);
    this.#counts.accepted++;
    this.#ready.push(entry);
    this.#keepBounds();
  }

  take(oldestMs: number): Entry | undefined {
    for (let entry = this.#ready.shift(); entry !== undefined; entry = this.#ready.shift()) {
      const outcome = this.#options.judge(entry, oldestMs);
      if (outcome === undefined) {
        this.#taken.add(entry);
        return entry;
      }
      this.#leave(entry, outcome);
    }
    return undefined;
  }

  load(): Promise<void> {
    return Promise.resolve();
  }

  settle(entry: Entry, outcome: Outcome): void {
    if (this.#taken.delete(entry)) this.#count(outcome);
  }

  restart(): void {
    const taken = [...this.#taken];
    this.#taken.clear();
    if (this.#options.isKept) this.#ready.unshift(taken);
    else this.#counts.dropped += taken.length;
    this.#keepBounds();
  }

  /** Takes out the entries that are too old. */
  expire(oldestMs: number): void {
    for (let { first } = this.#ready; first !== undefined; first = this.#ready.first) {
      if (first.receivedAtMs >= oldestMs) return;
      this.#ready.shift();
      this.#leave(first, 'expired');
    }
  }

  #keepBounds(): void {
    const maxCount = Math.max(0, this.#options.maxCount() - this.#taken.size);
    while (this.#ready.count > maxCount || this.#ready.bytes > this.#options.maxBytes()) {
      const oldest = this.#ready.shift();
      this.#counts.dropped++;
      if (oldest !== undefined) this.#options.onUnsent(oldest);
    }
  }

  #leave(entry: Entry, outcome: Outcome): void {
    this.#count(outcome);
    this.#options.onUnsent(entry);
  }

  #count(outcome: Outcome): void {
    if (outcome === 'delivered' || outcome === 'expired') {
      this.#counts[outcome]++;
      return;
    }
    this.#counts.dropped++;
    this.#counts.reasons[outcome]++;
  }
}

/**
 * The outcome of an entry that must not be sent any more; undefined for one that is still to be sent.
 *
 * @param oldestMs entries received before this expire
 */
export function judgeEntry(
  entry: Entry,
  oldestMs: number,
  nowMs: number,
  mayReceive: (entry: Entry) => boolean,
): Outcome | undefined {
  const { receivedAtMs, properties } = entry;
  const isTooOld =
    receivedAtMs < oldestMs || (properties !== undefined && hasExpired(properties, nowMs));
  if (isTooOld) return 'expired';
  return mayReceive(entry) ? undefined : 'forbidden';
}

/** Entries in sending order, and their bytes: payload and properties. */
class Fifo {
  #entries: Entry[] = [];
  /** How many entries at the front are gone. */
  #passed = 0;
  #bytes = 0;

  get count(): number {
    return this.#entries.length - this.#passed;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get first(): Entry | undefined {
    return this.#entries[this.#passed];
  }

  push(entry: Entry): void {
    this.#entries.push(entry);
    this.#bytes += bytesOfMessage(entry);
  }

  /** Puts entries before all others. */
  unshift(entries: readonly Entry[]): void {
    this.#entries = [...entries, ...this.#entries.slice(this.#passed)];
    this.#passed = 0;
    for (const entry of entries) this.#bytes += bytesOfMessage(entry);
  }

  shift(): Entry | undefined {
    const entry = this.#entries[this.#passed];
    if (entry === undefined) return undefined;
    this.#passed++;
    this.#bytes -= bytesOfMessage(entry);
    // Half of the array at a time: moving the rest costs more than passing one.
    if (this.#passed * 2 >= this.#entries.length) {
      this.#entries = this.#entries.slice(this.#passed);
      this.#passed = 0;
    }
    return entry;
  }

  clear(): void {
    this.#entries = [];
    this.#passed = 0;
    this.#bytes = 0;
  }
}
