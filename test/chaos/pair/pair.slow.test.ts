import { expect, it } from 'vitest';
import { linesOfPair } from '../../../tools/chaos/pair/print.js';
import { runPairChaos } from '../../../tools/chaos/pair/run.js';
import type { Fault, PlannedFault } from '../../../tools/chaos/pair/schedule.js';

const FAULTS: readonly [Fault, forMs: number][] = [
  [{ kind: 'stop', role: 'serving' }, 1_000],
  [{ kind: 'kill', role: 'primary' }, 3_000],
  [{ kind: 'kill', role: 'serving' }, 6_500],
];

it('guarantees 2 and 3 in a pair: loses nothing, keeps the order and acknowledges in one epoch at a time', async () => {
  const faults = FAULTS.map(
    ([fault, forMs]): PlannedFault => ({
      fault,
      forMs,
      pauseMs: 200,
      sentinel: 0,
      meanwhile: undefined,
    }),
  );
  const report = await runPairChaos(
    {
      faults,
      durationMs: 12_000,
      minAlarms: 0,
      seed: 20_261_123,
      devices: 8,
      alarmsPerSecond: 30,
      replicas: 1,
      withoutReplica: 'continue',
      isHurried: true,
    },
    () => undefined,
  );
  const text = linesOfPair(report).join('\n');
  expect(report.violations, text).toEqual([]);
  expect(report.lost, text).toBe(0);
  expect(report.outcomes, text).toHaveLength(faults.length);
  expect(report.takeovers.length, text).toBeGreaterThanOrEqual(2);
  expect(report.acknowledged, text).toBeGreaterThan(200);
});
