import type { LogEntry, LogName } from '../log/log-entry.js';
import type { Outcome } from './queue-store.js';

/** The two queues of a consumer, as its connection takes from them. */
export interface Queues {
  /**
   * Takes the next entry to send; `not-loaded` when `load` must come first.
   *
   * @param oldestMs entries received before this expire
   */
  take(log: LogName, oldestMs: number): LogEntry | 'not-loaded' | 'caught-up';
  /** Takes an alarm before its turn. Returns whether to send it. */
  takeAhead(alarm: LogEntry, oldestMs: number): boolean;
  wantsPage(log: LogName): boolean;
  isLoading(log: LogName): boolean;
  /** Reads the next page. */
  load(log: LogName): Promise<void>;
  /** Removes a taken entry and counts what became of it. */
  settle(entry: LogEntry, outcome: Outcome): void;
  /** Notes that a taken entry must be sent again. */
  released(entry: LogEntry): void;
}
