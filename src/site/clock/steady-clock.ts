import type { Logger } from 'pino';
import { type FaultReport, fault, faultWords } from '../../domain/fault.js';
import { formatTime, PLAUSIBLE_FROM_MS } from '../../domain/time.js';
import type { ClockStoreRedis } from '../../store/site/kept.js';
import type { Health } from '../health/health.js';

const CHECK_INTERVAL_MS = 1_000;
const SAVE_INTERVAL_MS = 30_000;
/** A smaller jump is a clock being slewed, or a busy machine. */
const MIN_JUMP_MS = 5_000;
/** How long a jump is reported as a fault. */
const JUMP_REPORTED_FOR_MS = 60_000;
/** For so long a start doubts a clock that is behind the last run: then it may be the last run's that was ahead. */
const DOUBTED_FOR_MS = 24 * 3_600_000;

/** The clocks as the gateway last saw them. */
export interface ClockRecord {
  readonly wallMs: number;
  readonly steadyMs: number;
  /** How far the starts have set the steady clock forward, in all. */
  readonly addedMs: number;
}

export interface SteadyClockOptions {
  /** The machine's clock, milliseconds since 1970. */
  readonly now: () => number;
  /** Milliseconds since some moment; never jumps. */
  readonly elapsed: () => number;
  readonly health: Health;
  readonly log: Logger;
}

/**
 * The time that the gateway has run, over all its runs.
 *
 * All ages are measured by this clock, so setting the wall clock, while the gateway runs or while it is
 * down, makes nothing older (contract 4.7). The time between two runs does not count, except
 * for the seconds since the last save: a downtime looks like a clock that has jumped. Timestamps for people
 * come from the machine's clock.
 */
export class SteadyClock {
  readonly #options: SteadyClockOptions;
  /** Steady time minus `elapsed`. */
  #offsetMs: number;
  /** How far all starts together set it forward: a run may have gone on for a while after its last save. */
  #addedMs = 0;
  /** Wall time minus steady time. */
  #driftMs: number;
  /** The end of the last run, and the steady time at the start of this one; undefined in the very first run. */
  #resumed: { readonly last: ClockRecord; readonly steadyMs: number } | undefined;
  #jumpFault: FaultReport | undefined;
  #jumpReportedUntilMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #store: ClockStoreRedis | undefined;
  #saveTimer: NodeJS.Timeout | undefined;
  #saving: Promise<void> | undefined;
  #cannotSave = false;

  constructor(options: SteadyClockOptions) {
    this.#options = options;
    const steadyMs = Math.max(options.now(), PLAUSIBLE_FROM_MS);
    this.#offsetMs = steadyMs - options.elapsed();
    this.#driftMs = options.now() - steadyMs;
  }

  readonly now = (): number => this.#options.elapsed() + this.#offsetMs;

  /** The same without what was added at the starts: time in which the gateway certainly ran. */
  readonly runningNow = (): number => this.now() - this.#addedMs;

  /**
   * Estimates the real time since a stamp of this clock, for information only.
   *
   * The last downtime counts by the wall clock, which may be wrong; earlier ones are not known.
   */
  readonly elapsedSinceMs = (stampMs: number): number => {
    const ranMs = Math.max(0, this.now() - stampMs);
    if (this.#resumed === undefined || stampMs >= this.#resumed.steadyMs) return ranMs;
    const { last } = this.#resumed;
    // The present wall clock counts, because a machine boots with any time and is corrected soon after.
    const downtimeMs = this.#options.now() - this.now() - (last.wallMs - last.steadyMs);
    return ranMs + Math.max(0, downtimeMs);
  };

  /** The wall time of a stamp of this clock, for people to read. */
  readonly wallTimeOf = (stampMs: number): number =>
    this.#options.now() - this.elapsedSinceMs(stampMs);

  start(): void {
    this.#timer = setInterval(() => this.check(), CHECK_INTERVAL_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Continues from the last save; must come before anything is stamped or measured. */
  async resume(store: ClockStoreRedis): Promise<void> {
    const last = await store.load();
    const wallMs = this.#options.now();
    const steadyMs = Math.max(PLAUSIBLE_FROM_MS, last ? resumedMs(wallMs, last) : wallMs);
    this.#offsetMs = steadyMs - this.#options.elapsed();
    this.#driftMs = wallMs - steadyMs;
    if (last !== undefined) {
      this.#resumed = { last, steadyMs };
      this.#addedMs = last.addedMs + steadyMs - last.steadyMs;
    }
    const doubt = this.#doubt();
    if (doubt !== undefined) this.#options.log.error(faultWords(doubt, 'en').message);
    this.check();
    this.#store = store;
  }

  /**
   * Starts saving the clock.
   *
   * Nothing is stamped before the gateway listens, and on a full disk a write would end the embedded store
   * while a start still reads from it.
   */
  startSaving(): void {
    const store = this.#store;
    if (store === undefined) return;
    this.#saveTimer = setInterval(() => this.#save(store), SAVE_INTERVAL_MS);
    this.#save(store);
  }

  /** Saves the clock for the next run, as the last write to the store. */
  async suspend(): Promise<void> {
    if (this.#store === undefined || this.#saveTimer === undefined) return;
    clearInterval(this.#saveTimer);
    await this.#saving;
    await this.#save(this.#store);
  }

  /** Reports a wall clock that has jumped since the last check, or that is in doubt. */
  check(): void {
    const { now, elapsed, health, log } = this.#options;
    const driftMs = now() - this.now();
    const jumpMs = driftMs - this.#driftMs;
    this.#driftMs = driftMs;
    if (Math.abs(jumpMs) >= MIN_JUMP_MS) {
      log.error({ jumpMs }, 'the clock of this machine has jumped');
      this.#jumpFault = fault('clockJumped', { seconds: Math.round(jumpMs / 1000) });
      this.#jumpReportedUntilMs = elapsed() + JUMP_REPORTED_FOR_MS;
    } else if (elapsed() >= this.#jumpReportedUntilMs) {
      this.#jumpFault = undefined;
    }
    health.report('clock', this.#jumpFault);
    // Doubt waits until the jump's own fault is over: a jump undone by then leaves no doubt.
    health.report('clock-doubt', this.#jumpFault === undefined ? this.#doubt() : undefined);
  }

  /** The fault of a wall clock that is plainly wrong; it leaves the gateway ready. */
  #doubt(): FaultReport | undefined {
    const wallMs = this.#options.now();
    if (wallMs < PLAUSIBLE_FROM_MS) return fault('clockUnset');
    if (this.#resumed === undefined) return undefined;
    const { last, steadyMs } = this.#resumed;
    const isBehind = wallMs < last.wallMs - MIN_JUMP_MS;
    if (!isBehind || this.now() - steadyMs >= DOUBTED_FOR_MS) return undefined;
    return fault('clockBehind', { shown: formatTime(last.wallMs) });
  }

  /** Saves in the background, never twice at a time. */
  #save(store: ClockStoreRedis): Promise<void> {
    this.#saving ??= this.#saveNow(store).finally(() => {
      this.#saving = undefined;
    });
    return this.#saving;
  }

  async #saveNow(store: ClockStoreRedis): Promise<void> {
    try {
      await store.save({
        wallMs: this.#options.now(),
        steadyMs: this.now(),
        addedMs: this.#addedMs,
      });
      this.#cannotSave = false;
    } catch (error) {
      if (!this.#cannotSave) this.#options.log.warn({ err: error }, 'failed to save the clock');
      this.#cannotSave = true;
    }
  }
}

/** The steady time after a downtime, which counts only as far as the last run may have outlived its save. */
function resumedMs(wallMs: number, last: ClockRecord): number {
  return last.steadyMs + Math.min(Math.max(0, wallMs - last.wallMs), SAVE_INTERVAL_MS);
}
