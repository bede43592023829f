import type { Logger } from 'pino';
import { PLAUSIBLE_FROM_MS } from '../domain/notation.js';
import { ClockDoubt, MIN_JUMP_MS } from './clock-doubt.js';
import type { ClockReading, ClockRecord, ClockStart, ClockStore } from './clock-store.js';
import type { Health } from './health.js';

const CHECK_INTERVAL_MS = 1_000;
const SAVE_INTERVAL_MS = 30_000;
/** For how long a jump is reported as a fault. */
const JUMP_REPORTED_FOR_MS = 60_000;
/** Starts that are remembered; beyond them downtimes are forgotten, the oldest first. */
const MAX_STARTS = 100;
const JUMP_FAULT = 'clock';
const DOUBT_FAULT = 'clock-doubt';

export interface SteadyClockOptions {
  /** The machine's clock, milliseconds since 1970. */
  readonly now: () => number;
  /** Milliseconds since any moment; never jumps. */
  readonly elapsed: () => number;
  readonly health: Health;
  readonly log: Logger;
}

/**
 * The time that the gateway was seen to run, over all its runs.
 *
 * All ages are measured by it: a wall clock that is set, while the gateway runs or while it is down, makes
 * nothing older (CONTRACT 4.7, FINDINGS R1). The time between two runs does not count, but for the
 * seconds since the last save: a downtime cannot be told from a clock that has jumped. Timestamps
 * that people read come from the machine's clock.
 */
export class SteadyClock {
  readonly #options: SteadyClockOptions;
  /** Added to `elapsed`: the steady time. */
  #offsetMs: number;
  /** How far the wall clock is ahead of this one. */
  #driftMs: number;
  #doubt: ClockDoubt;
  /** Where the last run ended and this one began; undefined in the first run of all. */
  #resumed: { readonly last: ClockRecord; readonly steadyMs: number } | undefined;
  #jumpFault: string | undefined;
  #jumpReportedUntilMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #store: ClockStore | undefined;
  #saveTimer: NodeJS.Timeout | undefined;
  #saving: Promise<void> | undefined;
  #cannotSave = false;

  constructor(options: SteadyClockOptions) {
    this.#options = options;
    const steadyMs = Math.max(options.now(), PLAUSIBLE_FROM_MS);
    this.#offsetMs = steadyMs - options.elapsed();
    this.#driftMs = options.now() - steadyMs;
    this.#doubt = newDoubt(steadyMs);
  }

  readonly now = (): number => this.#options.elapsed() + this.#offsetMs;

  /**
   * Estimates the real time since a stamp of this clock, for information only: the time in which the
   * gateway was down counts by the wall clock, which may be wrong.
   */
  readonly elapsedSinceMs = (stampMs: number): number => {
    const downtimes = this.#starts()
      .filter(({ steadyMs }) => stampMs < steadyMs)
      .map(({ downtimeMs }) => downtimeMs);
    return downtimes.reduce((sum, one) => sum + one, Math.max(0, this.now() - stampMs));
  };

  /** The wall time of a stamp of this clock, as people are shown it. */
  readonly wallTimeOf = (stampMs: number): number =>
    this.#options.now() - this.elapsedSinceMs(stampMs);

  start(): void {
    this.#timer = setInterval(() => this.check(), CHECK_INTERVAL_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Goes on where the last run was saved; must come before anything is stamped or measured. */
  async resume(store: ClockStore): Promise<void> {
    const last = await store.load();
    const newestStampMs = last === undefined ? await store.newestStampMs() : undefined;
    const wallMs = this.#options.now();
    const steadyMs =
      last === undefined ? firstSteadyMs(wallMs, newestStampMs) : resumedSteadyMs(wallMs, last);
    this.#offsetMs = steadyMs - this.#options.elapsed();
    this.#driftMs = wallMs - steadyMs;
    if (last === undefined) {
      this.#doubt = newDoubt(steadyMs);
    } else {
      this.#resumed = { last, steadyMs };
      this.#doubt = ClockDoubt.resumed(last.trust, last, { wallMs, steadyMs });
    }
    const doubt = this.#doubt.judge({ wallMs, steadyMs });
    if (doubt !== undefined) this.#options.log.error(doubt);
    this.check();
    this.#store = store;
  }

  /**
   * Saves the clock from now on. Before the gateway listens nothing is stamped, and a write would end
   * an embedded store on a full disk under what a start has to read.
   */
  startSaving(): void {
    const store = this.#store;
    if (store === undefined) return;
    this.#saveTimer = setInterval(() => this.#save(store), SAVE_INTERVAL_MS);
    this.#save(store);
  }

  /** Saves the clock for the next run; the last thing that is written into the store. */
  async suspend(): Promise<void> {
    if (this.#store === undefined || this.#saveTimer === undefined) return;
    clearInterval(this.#saveTimer);
    await this.#saving;
    await this.#save(this.#store);
  }

  /** Reports a wall clock that has jumped since the last check, or that is in doubt. */
  check(): void {
    const { now, elapsed, health, log } = this.#options;
    const reading: ClockReading = { wallMs: now(), steadyMs: this.now() };
    const driftMs = reading.wallMs - reading.steadyMs;
    const jumpMs = driftMs - this.#driftMs;
    this.#driftMs = driftMs;
    if (Math.abs(jumpMs) >= MIN_JUMP_MS) {
      log.error({ jumpMs }, 'the clock of this machine has jumped');
      this.#jumpFault = `The clock of this machine has jumped by ${Math.round(jumpMs / 1000)} s.`;
      this.#jumpReportedUntilMs = elapsed() + JUMP_REPORTED_FOR_MS;
      this.#doubt.jumped(reading.steadyMs);
    } else if (elapsed() >= this.#jumpReportedUntilMs) {
      this.#jumpFault = undefined;
    }
    health.report(JUMP_FAULT, this.#jumpFault);
    // Not before: a jump that is undone within the minute leaves nothing to be doubted.
    const doubt = this.#jumpFault === undefined ? this.#doubt.judge(reading) : undefined;
    // Doubt may last for long, and the gateway does its whole work.
    health.reportElsewhere(DOUBT_FAULT, doubt);
  }

  #starts(): readonly ClockStart[] {
    if (this.#resumed === undefined) return [];
    const { last, steadyMs } = this.#resumed;
    // By the wall clock as it is now: a box boots with any time, and is set right soon after.
    const downtimeMs = this.#options.now() - this.now() - (last.wallMs - last.steadyMs);
    return downtimeMs > 0 ? [...last.starts, { steadyMs, downtimeMs }] : last.starts;
  }

  /** In the background: a save that waits for the store is not joined by others. */
  #save(store: ClockStore): Promise<void> {
    this.#saving ??= this.#saveNow(store).finally(() => {
      this.#saving = undefined;
    });
    return this.#saving;
  }

  async #saveNow(store: ClockStore): Promise<void> {
    try {
      await store.save({
        wallMs: this.#options.now(),
        steadyMs: this.now(),
        starts: this.#starts().slice(-MAX_STARTS),
        trust: this.#doubt.trust,
      });
      this.#cannotSave = false;
    } catch (error) {
      if (!this.#cannotSave) this.#options.log.warn({ err: error }, 'failed to save the clock');
      this.#cannotSave = true;
    }
  }
}

function newDoubt(steadyMs: number): ClockDoubt {
  return new ClockDoubt({ isConfirmed: false, unchangedSinceMs: steadyMs });
}

/** Counts a downtime only as far as the last run may have gone on behind its last save. */
function resumedSteadyMs(wallMs: number, last: ClockReading): number {
  return last.steadyMs + Math.min(Math.max(0, wallMs - last.wallMs), SAVE_INTERVAL_MS);
}

/** Never ahead of the data that a version without a steady clock of its own has left. */
function firstSteadyMs(wallMs: number, newestStampMs: number | undefined): number {
  if (newestStampMs === undefined) return Math.max(wallMs, PLAUSIBLE_FROM_MS);
  return wallMs < PLAUSIBLE_FROM_MS ? newestStampMs : Math.min(wallMs, newestStampMs);
}
