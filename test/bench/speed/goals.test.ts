import { expect, it } from 'vitest';
import { chart } from '../../../tools/bench/speed/chart.js';
import { AEDES } from '../../../tools/bench/speed/contestants/aedes.js';
import { GATEWAY } from '../../../tools/bench/speed/contestants/gateway.js';
import { verdicts } from '../../../tools/bench/speed/goals.js';
import type { Measure } from '../../../tools/bench/speed/measure.js';
import { ONE_DURABLE, SUSTAINED } from '../../../tools/bench/speed/measures/sustained.js';
import { MeasureResults, type Results } from '../../../tools/bench/speed/results.js';
import { FULL } from '../../../tools/bench/speed/scale.js';

const AT_LEAST_AEDES = /1 durable subscriber: received\/s at least × 0.75 of Aedes in memory/;

function found(ours: readonly number[], theirs: readonly number[]): Results {
  const results = new MeasureResults(SUSTAINED);
  for (const perSecond of ours) add(results, GATEWAY.name, perSecond);
  for (const perSecond of theirs) add(results, AEDES.name, perSecond);
  return new Map<Measure, MeasureResults>([[SUSTAINED, results]]);
}

function add(results: MeasureResults, contestant: string, perSecond: number): void {
  results.add(contestant, { case: ONE_DURABLE.name, values: { perSecond } });
}

function verdict(results: Results) {
  return verdicts(results, FULL).find(({ text }) => AT_LEAST_AEDES.test(text));
}

it('a goal is judged by the medians of the rounds, and met exactly at its limit', () => {
  const metByMedian = found([10, 75, 300], [100, 90, 200]);
  expect(verdict(metByMedian)).toMatchObject({ figure: '× 0.75', isMet: true });
  const missedByMedian = found([10, 74, 300], [100, 90, 200]);
  expect(verdict(missedByMedian)).toMatchObject({ figure: '× 0.74', isMet: false });
});

it('a value that was not measured is neither met nor missed', () => {
  expect(verdict(found([75], []))).toMatchObject({ figure: null, isMet: null });
  expect(verdicts(new Map(), FULL)).toEqual([]);
});

it('a contestant that delivers nothing is beaten', () => {
  expect(verdict(found([75], [0]))).toMatchObject({ figure: '× ∞', isMet: true });
});

it('the median of an even number of rounds is the mean of the middle two', () => {
  const [row] = found([1, 2, 4, 9], []).get(SUSTAINED)?.rows ?? [];
  expect(row?.figure({ key: 'perSecond' })).toMatchObject({ median: 3, min: 1, max: 9 });
});

it('the chart has a bar for each contestant, the longest for the largest figure', () => {
  const svg = chart(found([50], [100]));
  const widths = [...svg.matchAll(/<rect class="(own|other)" .* width="([\d.]+)"/g)];
  expect(widths.map(([, kind]) => kind)).toEqual(['own', 'other']);
  const [own = 0, other = 0] = widths.map(([, , width]) => Number(width));
  expect(own / other).toBeCloseTo(0.5, 2);
});
