import { afterAll, beforeAll, expect, it } from 'vitest';
import { Cleanups } from '../../tools/bench/speed/cleanups.js';
import { ATTACKS } from '../../tools/hostile/attacks/index.js';
import { Scene } from '../../tools/hostile/scene.js';

/** Attacks that cost processor time before authentication; broker/wire/fair-reading.load.test.ts has a flood. */
const NAMES = ['pipelined-health', 'handshakes-ecdsa-mqtts'];
const SHORT = { seconds: 2, quietMs: 200, maxRecoveryMs: 30_000, calmSeconds: 0, namedWithinMs: 0 };

const cleanups = new Cleanups();
let scene: Scene;

beforeAll(async () => {
  scene = await Scene.open({ peer: 'gateway', needs: { tls: 'ecdsa' } }, cleanups);
});
afterAll(() => cleanups.run());

it.each(NAMES)('delivers the alarms of another home during %s', async (name) => {
  const attack = ATTACKS.find((one) => one.name === name);
  expect(attack, name).toBeDefined();
  const result = await scene.try(attack, SHORT);
  const text = JSON.stringify(result, undefined, 2);
  expect(result.published, text).toBeGreaterThan(SHORT.seconds * 50);
  expect([result.lost, result.unacknowledged], text).toEqual([0, 0]);
});
