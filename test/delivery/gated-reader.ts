import type { LogEntry, LogName, LogReader } from '../../src/delivery/log/log-entry.js';
import type { TestLogs } from './array-logs.js';

/** Small pages, so that more can go wrong. */
const PAGE_ENTRIES = 5;

/** Holds reads until the run lets them be answered, or fail. */
export class GatedReader implements LogReader {
  readonly #logs: TestLogs;
  readonly #waiting: { answer: () => void; fail: () => void }[] = [];

  constructor(logs: TestLogs) {
    this.#logs = logs;
  }

  get isIdle(): boolean {
    return this.#waiting.length === 0;
  }

  read(log: LogName, afterSequence: number, count: number): Promise<LogEntry[]> {
    return this.#gated(() => this.#logs.read(log, afterSequence, Math.min(count, PAGE_ENTRIES)));
  }

  pick(log: LogName, sequences: readonly number[]): Promise<LogEntry[]> {
    return this.#gated(() => this.#logs.pick(log, sequences));
  }

  lastSequence(log: LogName): Promise<number> {
    return this.#logs.lastSequence(log);
  }

  /** Returns whether there was a read to answer. */
  answer(succeeds: boolean): boolean {
    const oldest = this.#waiting.shift();
    if (succeeds) oldest?.answer();
    else oldest?.fail();
    return oldest !== undefined;
  }

  /** Reads when the answer is let through, not when asked. */
  #gated(read: () => Promise<LogEntry[]>): Promise<LogEntry[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({
        answer: () => resolve(read()),
        fail: () => reject(new Error('the store is away')),
      });
    });
  }
}
