import type { Logger } from 'pino';

/** Removes things of one kind that are too old. */
export interface Retention {
  /** Removes all of them, or a part when stopped; returns how many. */
  removeOld(stopping: AbortSignal): Promise<number>;
}

export interface RetentionScheduleOptions {
  /** The plural noun of the things removed, for the log. */
  readonly what: string;
  readonly intervalMs: number;
  readonly log: Logger;
}

/** Runs a retention at once and then at an interval; a failed run is repeated the next time. */
export class RetentionSchedule {
  readonly #retention: Retention;
  readonly #options: RetentionScheduleOptions;
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #isRunning = false;

  constructor(retention: Retention, options: RetentionScheduleOptions) {
    this.#retention = retention;
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => this.#run(), this.#options.intervalMs);
    this.#run();
  }

  stop(): void {
    this.#stopping.abort();
    clearInterval(this.#timer);
  }

  /** Runs the retention, unless a run is under way: one may wait for the store for hours. */
  #run(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    const { what, log } = this.#options;
    this.#retention
      .removeOld(this.#stopping.signal)
      .then((removed) => {
        if (removed > 0) log.info({ removed }, `removed old ${what}`);
      })
      .catch((error: unknown) => {
        log.warn({ err: error }, `failed to remove old ${what}, retrying`);
      })
      .finally(() => {
        this.#isRunning = false;
      });
  }
}
