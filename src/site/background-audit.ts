import type { Logger } from 'pino';
import type { AuditEntry, AuditTrail } from './audit-trail.js';
import { pause } from './pause.js';

const MAX_WAITING = 10_000;
const MAX_BATCH = 100;
const RETRY_AFTER_MS = 500;

/**
 * Records audit entries in the background, for callers that cannot wait: an invalid credential must be
 * answered whether or not the store answers. While the store is away entries wait in a bounded queue;
 * those that find no room are counted and logged. An entry whose write got no answer is written again,
 * and may be there twice.
 */
export class BackgroundAudit {
  readonly #trail: AuditTrail;
  readonly #log: Logger;
  readonly #stopping = new AbortController();
  readonly #waiting: AuditEntry[] = [];
  #running: Promise<void> | undefined;
  #lost = 0;

  constructor(trail: AuditTrail, log: Logger) {
    this.#trail = trail;
    this.#log = log;
  }

  /** Number of entries lost for want of room since the start. */
  get lost(): number {
    return this.#lost;
  }

  add(entry: AuditEntry): void {
    if (this.#waiting.length >= MAX_WAITING) {
      if (this.#lost === 0) this.#log.error('audit entries are lost: too many wait for the store');
      this.#lost++;
      return;
    }
    this.#waiting.push(entry);
    this.#running ??= this.#run();
  }

  /** Tries the waiting entries once more, unless that is under way: a stop must not take long. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    if (this.#waiting.length > 0) {
      this.#log.error({ lost: this.#waiting.length }, 'audit entries are lost: the store is away');
    }
  }

  async #run(): Promise<void> {
    let isAway = false;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, MAX_BATCH);
      try {
        await this.#trail.record(batch);
        this.#waiting.splice(0, batch.length);
        isAway = false;
      } catch (error) {
        if (!isAway) this.#log.warn({ err: error }, 'failed to write audit entries, trying again');
        isAway = true;
        if (this.#stopping.signal.aborted) break;
        await pause(RETRY_AFTER_MS, this.#stopping.signal);
      }
    }
    this.#running = undefined;
  }
}
