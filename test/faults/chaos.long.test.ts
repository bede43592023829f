// Guarantees 2 and 3 through kills at random moments, as `npm run chaos` has them for as long as wanted.
import { runOneBox } from '../../tools/chaos/one-box.js';
import { runPair } from '../../tools/chaos/pair/run.js';
import type { Fault } from '../../tools/chaos/schedule.js';
import { expect, test } from '../harness/index.js';

const SEED = 20_261_121;
const TIMEOUT = { timeout: 180_000 };
const silent = () => undefined;

test(
  'kills of the gateway, the store and an upstream lose nothing and keep the order',
  TIMEOUT,
  async () => {
    const load = { durationMs: 12_000, minAlarms: 0, devices: 10, alarmsPerSecond: 60 };
    const report = await runOneBox({ ...load, seed: SEED, kills: 6, upstreamKills: 3 }, silent);
    const text = report.lines.join('\n');
    expect(report.violations, text).toEqual([]);
    expect(report.acknowledged, text).toBeGreaterThan(400);
    const { gateway, store, both } = report.kills;
    expect(gateway + store + both, text).toBeGreaterThanOrEqual(5);
    expect(report.upstreamKills, text).toBe(3);
  },
);

const FAULTS: readonly [Fault, forMs: number][] = [
  [{ kind: 'stop', role: 'serving' }, 1_000],
  [{ kind: 'kill', role: 'primary' }, 3_000],
  [{ kind: 'kill', role: 'serving' }, 6_500],
];

test(
  'a pair loses nothing, keeps the order and acknowledges in one epoch at a time',
  TIMEOUT,
  async () => {
    const faults = FAULTS.map(([fault, forMs]) => ({
      ...{ fault, forMs, pauseMs: 200 },
      ...{ sentinel: 0, meanwhile: undefined },
    }));
    const load = { durationMs: 12_000, minAlarms: 0, devices: 8, alarmsPerSecond: 30 };
    const pair = { replicas: 1, withoutReplica: 'continue', isHurried: true } as const;
    const report = await runPair({ ...load, ...pair, faults, seed: SEED }, silent);
    const text = report.lines.join('\n');
    expect(report.violations, text).toEqual([]);
    expect(report.outcomes, text).toHaveLength(faults.length);
    expect(report.takeovers, text).toBeGreaterThanOrEqual(2);
    expect(report.acknowledged, text).toBeGreaterThan(200);
  },
);
