/** The scenarios with the Sentinels' own times, as in the files of config/pair: a takeover takes seconds. */
import { afterAll, beforeAll } from 'vitest';
import { test } from '../harness/index.js';
import { Pair, SCENARIOS } from './scenarios.js';

let pair: Pair;
beforeAll(async () => {
  pair = await Pair.start();
});
afterAll(() => pair?.remove());

for (const scenario of SCENARIOS) {
  test(scenario.name, { timeout: 300_000 }, () => pair.passes(scenario));
}
