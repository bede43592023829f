import type { LogEntry, LogName, Sized, Tail } from '../log/log-entry.js';

/** How much waits for a destination, in flight or not. */
export interface Backlog {
  readonly alarms: number;
  readonly messages: number;
  /** Of the messages: payload and properties. */
  readonly messageBytes: number;
}

export const NO_BACKLOG: Backlog = { alarms: 0, messages: 0, messageBytes: 0 };

/** The reasons, other than a bound, for which an item is dropped. */
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
  /** The dropped items that a bound did not drop, by reason. */
  readonly reasons: Readonly<Record<DropReason, number>>;
}
export type Accounts = Readonly<Record<LogName, Account>>;

/** Items of one destination with the same outcome. */
export interface Settlement {
  readonly destination: string;
  readonly log: LogName;
  readonly outcome: Outcome;
  readonly items: readonly QueuedItem[];
}

/** The parts of an entry needed to settle it. */
export interface QueuedItem extends Sized {
  readonly item: number;
}

/** A part of a queue, in order. */
export interface QueuePage {
  readonly entries: readonly LogEntry[];
  /** Items whose record is gone or unreadable. */
  readonly missing: readonly number[];
  /** Whether the queue ended here when it was read. */
  readonly isEnd: boolean;
}

/** What may stay in a queue. */
export interface QueueBounds {
  /** Items received before this expire; by the steady clock. */
  readonly oldestMs: number;
  readonly maxMessages: number;
  readonly maxMessageBytes: number;
}

/** Which messages may be taken off a queue: none being sent, and none not yet announced. */
export interface MessageRange {
  /** The last item that stays; 0 for none. */
  readonly after: number;
  /** The number of the last message that may go. */
  readonly upTo: number;
}

/** What is left of a queue. */
export interface Bounded {
  readonly backlog: Backlog;
  /** How many of the alarms taken off have lost their record. */
  readonly lost: number;
  /** Whether more may have to go. */
  readonly hasMore: boolean;
}

/** The queues of durable consumers in the store. */
export interface QueueStore {
  /**
   * Reads at most `count` items after this one; 0: from the head.
   *
   * @param tail the newest alarms, which need no read
   * @throws Error with the reply code `WENTBACK` when the store has lost some of these (`lastLeft`)
   */
  page(
    log: LogName,
    destination: string,
    after: number,
    count: number,
    tail?: Tail,
  ): Promise<QueuePage>;
  /** The alarms of these items, except those that are gone. */
  pickAlarms(items: readonly number[]): Promise<LogEntry[]>;
  /** Removes items and counts what became of them; undefined for a destination that is gone. */
  settle(settlements: readonly Settlement[]): Promise<readonly (Backlog | undefined)[]>;
  /** Takes off some of the excess, oldest first; undefined for a destination that is gone. */
  keepBounds(
    destination: string,
    bounds: QueueBounds,
    range: MessageRange,
  ): Promise<Bounded | undefined>;
  /** Undefined for a destination that is gone. */
  accounts(destinations: readonly string[]): Promise<readonly (Accounts | undefined)[]>;
  /** When the oldest item of these logs was received, by the steady clock; undefined: there is none. */
  oldestReceivedAtMs(destination: string, logs?: readonly LogName[]): Promise<number | undefined>;
}
