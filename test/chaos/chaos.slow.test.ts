import { expect, it } from 'vitest';
import { linesOf } from '../../tools/chaos/print.js';
import { runChaos } from '../../tools/chaos/run.js';

const SECOND_MS = 1000;

it('guarantees 2 and 3: loses nothing and keeps the order through kills of the gateway, of the store and of an upstream', async () => {
  const report = await runChaos(
    {
      durationMs: 9 * SECOND_MS,
      kills: 5,
      upstreamKills: 3,
      minAlarms: 0,
      seed: 20_261_121,
      devices: 10,
      alarmsPerSecond: 60,
    },
    () => undefined,
  );
  const text = linesOf(report).join('\n');
  expect(report.violations, text).toEqual([]);
  expect(report.lost, text).toBe(0);
  expect(report.acknowledged, text).toBeGreaterThan(300);
  const { gateway, store, both } = report.kills;
  expect(gateway + store + both, text).toBeGreaterThanOrEqual(4);
  expect(report.upstreamKills, text).toBe(3);
});
