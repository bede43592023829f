import type { LogEntry, LogName, Sized, Tail } from '../log/log-entry.js';

/** How much waits for a destination, in flight or not. */
export interface Backlog {
  readonly alarms: number;
  readonly messages: number;
  /** Of the payloads of the messages. */
  readonly messageBytes: number;
}

export const NO_BACKLOG: Backlog = { alarms: 0, messages: 0, messageBytes: 0 };

/** What can become of an item beside being delivered and expiring: the reason for which it is dropped. */
export const DROP_REASONS = ['refused', 'lost', 'forbidden', 'too-large'] as const;
export type DropReason = (typeof DROP_REASONS)[number];
export type Outcome = 'delivered' | 'expired' | DropReason;

/** What became of the items that a consumer accepted: `accepted = delivered + queued + expired + dropped`. */
export interface Account {
  readonly accepted: number;
  readonly delivered: number;
  readonly queued: number;
  readonly expired: number;
  readonly dropped: number;
  /** Of the dropped ones, those dropped for a reason other than a bound. */
  readonly reasons: Readonly<Record<DropReason, number>>;
}
export type Accounts = Readonly<Record<LogName, Account>>;

/** Items of one destination, settled alike. */
export interface Settlement {
  readonly destination: string;
  readonly log: LogName;
  readonly outcome: Outcome;
  readonly items: readonly QueuedItem[];
}

/** An entry as far as it is settled. */
export interface QueuedItem extends Sized {
  readonly item: number;
}

/** A part of a queue, in order. */
export interface QueuePage {
  readonly entries: readonly LogEntry[];
  /** Items whose record is gone, or cannot be read. */
  readonly missing: readonly number[];
  /** Whether the queue ended here when it was read. */
  readonly isEnd: boolean;
}

/** What may stay of a queue. */
export interface QueueBounds {
  /** Items received earlier expire; by the steady clock. */
  readonly oldestMs: number;
  readonly maxMessages: number;
  readonly maxMessageBytes: number;
}

/** Which messages may be taken off a queue: not those that are being sent, nor those that are not announced yet. */
export interface MessageRange {
  /** The last item that stays; 0 for none. */
  readonly after: number;
  /** The number of the last one that may go. */
  readonly upTo: number;
}

/** What is left of a queue. */
export interface Bounded {
  readonly backlog: Backlog;
  /** Of the alarms taken off, those whose record is gone. */
  readonly lost: number;
  /** Whether there may be more to take off. */
  readonly hasMore: boolean;
}

/** The queues of durable consumers in the store. */
export interface QueueStore {
  /**
   * Reads the items after one, at most `count`; 0: from the head.
   *
   * @param tail the newest alarms, which are not read
   * @throws Error with the reply code `WENTBACK` when the store has lost some of them (`lastLeft`)
   */
  page(
    log: LogName,
    destination: string,
    after: number,
    count: number,
    tail?: Tail,
  ): Promise<QueuePage>;
  /** The alarms of these items, but for those that are gone. */
  pickAlarms(items: readonly number[]): Promise<LogEntry[]>;
  /** Removes items and counts what became of them; undefined for a destination that is gone. */
  settle(settlements: readonly Settlement[]): Promise<readonly (Backlog | undefined)[]>;
  /** Takes off some of what is beyond the bounds, the oldest first; undefined for a destination that is gone. */
  keepBounds(
    destination: string,
    bounds: QueueBounds,
    range: MessageRange,
  ): Promise<Bounded | undefined>;
  /** Undefined for a destination that is gone. */
  accounts(destinations: readonly string[]): Promise<readonly (Accounts | undefined)[]>;
  /** When the oldest item was received, by the steady clock; undefined for an empty queue. */
  oldestReceivedAtMs(destination: string): Promise<number | undefined>;
}
