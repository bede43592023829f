import type { ChaosOptions } from './options.js';
import { Random } from './random.js';

export const KILL_TARGETS = ['gateway', 'store', 'both'] as const;
/** Processes killed by SIGKILL. */
export type KillTarget = (typeof KILL_TARGETS)[number];

export interface PlannedKill {
  /** Since the start of the run. */
  readonly atMs: number;
  readonly target: KillTarget;
  /** A second kill during the recovery from the first. */
  readonly again: { readonly afterMs: number; readonly target: KillTarget } | undefined;
}

const FIRST_AFTER_MS = 500;
const CHANCE_OF_SECOND = 0.3;
const MAX_SECOND_AFTER_MS = 300;

/** Plans the kills: the same for the same options. */
export function planKills(
  options: Pick<ChaosOptions, 'seed' | 'kills' | 'durationMs'>,
): PlannedKill[] {
  const random = new Random(options.seed);
  const plan: PlannedKill[] = [];
  for (let left = options.kills; left >= 1; ) {
    const atMs = random.between(FIRST_AFTER_MS, options.durationMs);
    const target = random.pick(KILL_TARGETS);
    const second = {
      afterMs: random.between(0, MAX_SECOND_AFTER_MS),
      target: random.pick(KILL_TARGETS),
    };
    const hasSecond = random.chance(CHANCE_OF_SECOND) && left >= 2;
    plan.push({ atMs, target, again: hasSecond ? second : undefined });
    left -= hasSecond ? 2 : 1;
  }
  return plan.sort((one, other) => one.atMs - other.atMs);
}

/** A kill of the upstream. */
export interface PlannedOutage {
  /** Since the start of the run. */
  readonly atMs: number;
  /** How long the upstream hangs before it is killed. */
  readonly hangMs: number;
  readonly downMs: number;
}

const MAX_HANG_MS = 500;
const MAX_DOWN_MS = 2_000;

/** Plans the upstream's kills with its own generator, so that other schedules stay the same. */
export function planOutages(
  options: Pick<ChaosOptions, 'seed' | 'upstreamKills' | 'durationMs'>,
): PlannedOutage[] {
  const random = new Random(options.seed + 2);
  const plan = Array.from({ length: options.upstreamKills }, () => ({
    atMs: random.between(FIRST_AFTER_MS, options.durationMs),
    hangMs: random.between(0, MAX_HANG_MS),
    downMs: random.between(0, MAX_DOWN_MS),
  }));
  return plan.sort((one, other) => one.atMs - other.atMs);
}
