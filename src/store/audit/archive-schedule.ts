import type { Logger } from 'pino';
import { GatewayError } from '../../errors.js';
import type { AuditArchiveFaults } from './archive-faults.js';
import type { AuditArchiver } from './archiver.js';

export interface AuditArchiveScheduleOptions {
  readonly intervalMs: number;
  readonly faults: AuditArchiveFaults;
  readonly log: Logger;
}

/** Moves old records of the audit trail to the disk, again and again. */
export class AuditArchiveSchedule {
  readonly #archiver: AuditArchiver;
  readonly #options: AuditArchiveScheduleOptions;
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #isRunning = false;
  #isStoreAway = false;

  constructor(archiver: AuditArchiver, options: AuditArchiveScheduleOptions) {
    this.#archiver = archiver;
    this.#options = options;
  }

  /** Resolves once records may be written. */
  async start(): Promise<void> {
    await this.#attempt(() => this.#archiver.prepare());
    this.#timer = setInterval(() => this.#run(), this.#options.intervalMs);
    this.#run();
  }

  /** Stops at once: work under way may end anywhere, as records leave the store last. */
  stop(): void {
    this.#stopping.abort();
    clearInterval(this.#timer);
  }

  #run(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#attempt(async () => {
      const moved = await this.#archiver.moveOld(this.#stopping.signal);
      if (moved > 0) this.#options.log.info({ moved }, 'audit records moved to the disk');
    }).finally(() => {
      this.#isRunning = false;
    });
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    const { faults, log } = this.#options;
    try {
      await work();
      faults.canWrite();
      this.#isStoreAway = false;
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      if (error instanceof GatewayError) return faults.cannotWrite(error);
      if (!this.#isStoreAway) log.warn({ err: error }, 'failed to move audit records, retrying');
      this.#isStoreAway = true;
    }
  }
}
