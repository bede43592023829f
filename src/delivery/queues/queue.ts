import type { LogEntry, LogName } from '../log/log-entry.js';
import type { Outcome } from './queue-store.js';

/** A queue of a consumer, as its connection takes from it. */
export interface Queue {
  /** Whether a page is being read. */
  readonly isLoading: boolean;
  readonly wantsPage: boolean;
  /**
   * Takes the next entry to send; `not-loaded` when `load` must come first.
   *
   * @param oldestMs entries received before this expire
   */
  take(oldestMs: number): LogEntry | 'not-loaded' | 'caught-up';
  /** Takes an entry before its turn. Returns whether to send it. */
  takeAhead(entry: LogEntry, oldestMs: number): boolean;
  /** Reads the next page. */
  load(): Promise<void>;
  /** Removes a taken entry and counts what became of it. */
  settle(entry: LogEntry, outcome: Outcome): void;
  /** Notes that a taken entry must be sent again. */
  released(entry: LogEntry): void;
}

/** The two queues of a consumer. */
export type Queues = Readonly<Record<LogName, Queue>>;
