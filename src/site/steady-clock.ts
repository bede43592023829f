import type { Logger } from 'pino';
import type { Health } from './health.js';

const CHECK_INTERVAL_MS = 1_000;
/** Less than this is a clock being slewed, or a busy machine. */
const MIN_JUMP_MS = 5_000;
/** How long a jump is reported as a fault. */
const REPORTED_FOR_MS = 60_000;
const FAULT = 'clock';

export interface SteadyClockOptions {
  /** The machine's clock, milliseconds since 1970. */
  readonly now: () => number;
  /** Milliseconds since any moment; never jumps. */
  readonly elapsed: () => number;
  readonly health: Health;
  readonly log: Logger;
}

/**
 * A clock that never jumps: the time at the gateway's start plus what has passed since. Ages are
 * measured by it: a box whose clock is set right after its start would otherwise take every queued
 * alarm for years old and expire it (CONTRACT 4.7). Timestamps that people read come from the
 * machine's clock.
 */
export class SteadyClock {
  readonly #options: SteadyClockOptions;
  readonly #offsetMs: number;
  #driftMs = 0;
  #reportedUntilMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SteadyClockOptions) {
    this.#options = options;
    this.#offsetMs = options.now() - options.elapsed();
  }

  readonly now = (): number => this.#options.elapsed() + this.#offsetMs;

  start(): void {
    this.#timer = setInterval(() => this.check(), CHECK_INTERVAL_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Reports a fault when the machine's clock has jumped since the last check. */
  check(): void {
    const { now, health, log } = this.#options;
    const driftMs = now() - this.now();
    const jumpMs = driftMs - this.#driftMs;
    this.#driftMs = driftMs;
    if (Math.abs(jumpMs) >= MIN_JUMP_MS) {
      log.error({ jumpMs }, 'the clock of this machine has jumped');
      const seconds = Math.round(jumpMs / 1000);
      health.report(FAULT, `The clock of this machine has jumped by ${seconds} s.`);
      this.#reportedUntilMs = this.now() + REPORTED_FOR_MS;
    } else if (this.now() >= this.#reportedUntilMs) {
      health.report(FAULT, undefined);
    }
  }
}
