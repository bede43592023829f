import type { ChaosOptions } from './options.js';
import { Random } from './random.js';

export const KILL_TARGETS = ['gateway', 'store', 'both'] as const;
/** What dies by SIGKILL. */
export type KillTarget = (typeof KILL_TARGETS)[number];

export interface PlannedKill {
  /** Since the start of the run. */
  readonly atMs: number;
  readonly target: KillTarget;
  /** A second kill in the middle of the recovery from the first. */
  readonly again: { readonly afterMs: number; readonly target: KillTarget } | undefined;
}

const FIRST_AFTER_MS = 500;
const CHANCE_OF_SECOND = 0.3;
const MAX_SECOND_AFTER_MS = 300;

/** The schedule of kills: the same for the same options. */
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

/** An upstream's death. */
export interface PlannedOutage {
  /** Since the start of the run. */
  readonly atMs: number;
  /** It does nothing for so long before it dies. */
  readonly hangMs: number;
  readonly downMs: number;
}

const MAX_HANG_MS = 500;
const MAX_DOWN_MS = 2_000;

/** The schedule of the upstream's deaths: of its own, so that it changes nothing for the others. */
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
