import type { Logger } from 'pino';

/** Knows what of one kind is too old to be kept. */
export interface Retention {
  /** Removes all of it, or a part when it is stopped; returns how many there were. */
  removeOld(stopping: AbortSignal): Promise<number>;
}

export interface RetentionScheduleOptions {
  /** The plural noun of what is removed, for the log. */
  readonly what: string;
  readonly intervalMs: number;
  readonly log: Logger;
}

/** Removes what is too old, at once and then time after time; what fails is tried the next time. */
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

  /** A run may wait for the store for hours; another one does not join it. */
  #run(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    const { what, log } = this.#options;
    this.#retention
      .removeOld(this.#stopping.signal)
      .then((removed) => {
        if (removed > 0) log.info({ removed }, `${what} removed, their time is over`);
      })
      .catch((error: unknown) => {
        log.warn({ err: error }, `old ${what} not removed, trying again`);
      })
      .finally(() => {
        this.#isRunning = false;
      });
  }
}
