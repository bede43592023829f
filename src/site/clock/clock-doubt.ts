import { type FaultReport, fault } from '../../domain/faults/faults.js';
import { formatTime, PLAUSIBLE_FROM_MS } from '../../domain/time.js';
import type { ClockReading, ClockTrust } from './clock-store.js';

const DAY_MS = 24 * 3_600_000;
/** A smaller jump is a clock being slewed, or a busy machine. */
export const MIN_JUMP_MS = 5_000;

/**
 * Judges whether the wall clock can be trusted.
 *
 * A clock that went back, or ahead by more than a day, is in doubt until it is corrected, or has run for a
 * day without a jump. A clock behind a time that was confirmed in this way is certainly wrong, and stays in
 * doubt while it is behind.
 */
export class ClockDoubt {
  #trust: ClockTrust;

  constructor(trust: ClockTrust) {
    this.#trust = trust;
  }

  /** Resumes the trust of the last run; the clock may have been set in between. */
  static resumed(trust: ClockTrust, last: ClockReading, first: ClockReading): ClockDoubt {
    const passedMs = first.wallMs - last.wallMs;
    const isPlausible = passedMs > -MIN_JUMP_MS && passedMs <= DAY_MS;
    const unchangedSinceMs = isPlausible ? trust.unchangedSinceMs : first.steadyMs;
    return new ClockDoubt({ ...trust, unchangedSinceMs });
  }

  get trust(): ClockTrust {
    return this.#trust;
  }

  /** Notes a jump of the wall clock; its confirmation begins again. */
  jumped(steadyMs: number): void {
    this.#trust = { ...this.#trust, unchangedSinceMs: steadyMs };
  }

  /** Judges a reading, and learns from it. Returns the fault that names the doubt; undefined when there is none. */
  judge(reading: ClockReading): FaultReport | undefined {
    if (reading.wallMs < PLAUSIBLE_FROM_MS) return fault('clockUnset');
    const { seen, isConfirmed, unchangedSinceMs } = this.#trust;
    const isSteadyForADay = reading.steadyMs - unchangedSinceMs >= DAY_MS;
    if (seen !== undefined) {
      const isBehind = reading.wallMs < seen.wallMs - MIN_JUMP_MS;
      const expectedMs = seen.wallMs + reading.steadyMs - seen.steadyMs;
      const isAhead = reading.wallMs > expectedMs + DAY_MS;
      if (isBehind && (isConfirmed || !isSteadyForADay))
        return fault('clockBehind', { shown: formatTime(seen.wallMs) });
      if (isAhead && !isSteadyForADay)
        return fault('clockAhead', { seen: formatTime(seen.wallMs) });
    }
    this.#trust = {
      ...this.#trust,
      seen: reading,
      isConfirmed: isConfirmed || isSteadyForADay,
    };
    return undefined;
  }
}
