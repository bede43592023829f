import { expect, it } from 'vitest';
import { HANG_UP_LIMITS, HangUps } from '../../src/bridge/hang-ups.js';
import { Upstream } from '../../src/bridge/upstream.js';
import { faultTexts } from '../harness/described/fault-texts.js';
import { configured, useParts } from './parts.js';

const world = useParts();

const NOT_AUTHORIZED = 135;
const FAR_TOO_LONG = 70_000;

it('commands that the upstream denies are a fault until it grants them', async () => {
  const upstream = await world.upstream({
    onSubscribe: (connection) => (connection === 1 ? NOT_AUTHORIZED : 1),
  });
  const parts = world.parts();
  await parts.bridges.apply([configured({ url: upstream.url, commands: ['#'] })]);
  await expect
    .poll(() => faultTexts(parts.health.faults()))
    .toEqual([expect.stringContaining('no commands')]);
  upstream.hangUp();
  await expect.poll(() => faultTexts(parts.health.faults())).toEqual([]);
});

it('a flapping connection does not clear the fault of a lagging bridge', async () => {
  const upstream = await world.upstream({ onPublish: () => 'hang up' });
  const parts = world.parts();
  await parts.bridges.apply([configured({ url: upstream.url })]);
  await parts.alarm('bed', '{}', Date.now() - 61_000);
  const isLagging = () => faultTexts(parts.health.faults()).some((fault) => fault.includes('lags'));
  await expect.poll(isLagging).toBe(true);
  const wasLagging: boolean[] = [];
  parts.health.on('changed', () => wasLagging.push(isLagging()));
  const { length } = upstream.protocolVersions;
  await expect.poll(() => upstream.protocolVersions.length).toBeGreaterThan(length);
  await expect.poll(() => wasLagging.length).toBeGreaterThan(0);
  expect(wasLagging).not.toContain(false);
});

it('a message whose upstream topic is too long for MQTT becomes a dead letter', async () => {
  const upstream = await world.upstream();
  const parts = world.parts();
  await parts.bridges.apply([configured({ url: upstream.url })]);
  await parts.alarm('x'.repeat(FAR_TOO_LONG));
  await parts.alarm('bed');
  await expect
    .poll(() => parts.status())
    .toMatchObject({ queued: 0, delivered: 1, dropped: { refused: 1 }, connected: true });
  expect(upstream.topics).toHaveLength(1);
});

it('an invalid certificate leaves nothing running', () => {
  const timers = () => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length;
  const before = timers();
  const nothing = () => undefined;
  const create = () =>
    new Upstream(
      {
        bridge: configured({ url: 'mqtts://127.0.0.1:1' }),
        client: { reconnectPeriod: 0, cert: Buffer.from('none'), key: Buffer.from('none') },
        protocol: 5,
        maxGatheredBytes: 1_000,
        hangUps: new HangUps(HANG_UP_LIMITS, nothing),
      },
      {
        connected: nothing,
        writable: nothing,
        acknowledged: nothing,
        deadLettered: nothing,
        refused: nothing,
        commandsAnswered: nothing,
        closed: nothing,
        received: () => Promise.resolve(),
      },
    );
  expect(create).toThrow();
  expect(timers()).toBe(before);
});
