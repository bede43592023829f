import type { Logger } from 'pino';
import type { LogName } from './log-entry.js';
import { LOG_NAMES } from './log-entry.js';
import type { Router } from './router.js';

const INTERVAL_MS = 10_000;
/** Kept although every destination is done with them: a store trims whole nodes anyway. */
const KEPT_ENTRIES = 100;

export interface TrimmableLog {
  /** Removes the entries up to and including this one. */
  trim(log: LogName, upToSequence: number): Promise<void>;
}

/** Takes out of the logs what nobody is owed any more. */
export class LogTrimmer {
  readonly #logs: TrimmableLog;
  readonly #router: Router;
  readonly #log: Logger;
  #timer: NodeJS.Timeout | undefined;

  constructor(logs: TrimmableLog, router: Router, log: Logger) {
    this.#logs = logs;
    this.#router = router;
    this.#log = log;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#router.wakeAll();
      this.#trim().catch((error: unknown) => this.#log.warn({ err: error }, 'logs not trimmed'));
    }, INTERVAL_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #trim(): Promise<void> {
    const settled = this.#router.settled();
    for (const log of LOG_NAMES) {
      const upTo = settled[log] - KEPT_ENTRIES;
      if (upTo > 0) await this.#logs.trim(log, upTo);
    }
  }
}
