// Two of the attacks of `npm run hostile`, which are expensive before anybody has logged in, and one flood.
import { ATTACKS } from '../../tools/hostile/attacks/index.js';
import { trial } from '../../tools/hostile/trial.js';
import { expect, test } from '../harness/index.js';

const NAMES = ['pipelined-health', 'handshakes-ecdsa-mqtts', 'tiny-values-20'];
/** Two of the periods of 5 s after which the gateway names who takes most: one of them is whole. */
const SECONDS = 10;

test.for(NAMES)('the alarms of another home come during %s', { timeout: 120_000 }, async (name) => {
  const attack = ATTACKS.find((one) => one.name === name);
  const result = await trial(attack, SECONDS);
  const text = JSON.stringify(result, undefined, 2);
  expect(result.name).toBe(name);
  expect(result.misses, text).toEqual([]);
  expect(result.observed.report.sent, text).toBeGreaterThan(SECONDS * 50);
});
