/** A pair under the scenarios of `scenarios.ts`, one after another, with Sentinels that decide within a second. */
import { afterAll, beforeAll } from 'vitest';
import { test } from '../harness/index.js';
import { Pair, SCENARIOS } from './scenarios.js';

let pair: Pair;
beforeAll(async () => {
  pair = await Pair.start({ isHurried: true });
});
afterAll(() => pair?.remove());

for (const scenario of SCENARIOS) {
  test(scenario.name, { timeout: 240_000 }, () => pair.passes(scenario));
}
