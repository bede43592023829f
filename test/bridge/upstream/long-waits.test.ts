import { expect, it } from 'vitest';
import type { GatewayProcess } from '../../former/gateway/gateway-process.js';
import { MovableClock } from '../../former/gateway/movable-clock.js';
import type { Home } from '../../former/home.js';
import { accountOf } from '../../former/metrics.js';
import { bridgeOf, untilBridge } from '../bridge-api.js';
import { bridgeTo, reconciled, useWorld } from '../world.js';

const world = useWorld();

const HOUR_MS = 3_600_000;
/** contract.md, 3: forwarded more than 60 s after receipt. */
const LATE_MS = 61_000;

async function withClock(
  ...bridges: object[]
): Promise<{ clock: MovableClock; home: Home<GatewayProcess> }> {
  const clock = new MovableClock();
  world.onEnd(async () => clock.remove());
  return { clock, home: await world.homeOfProcess(bridges, clock.environment) };
}

it('marks queued alarms late, but not new ones', async () => {
  const mosquitto = await world.deadMosquitto();
  const { clock, home } = await withClock(bridgeTo(mosquitto));
  const sensor = await world.sensor(home);
  sensor.alarms(5);
  await sensor.settled();
  const old = new Set(sensor.published);
  clock.pass(home.gateway, LATE_MS);
  await mosquitto.start();
  const subscriber = await world.subscriber(mosquitto);
  await untilBridge(home, 'region', { connected: true });
  sensor.alarms(5);
  await reconciled(home, subscriber, [sensor]);
  for (const { key, text } of subscriber.arrivals) {
    if (key !== undefined) expect(JSON.parse(text).late).toBe(old.has(key));
  }
});

it('guarantee 6: entries older than the bridge’s limit expire and are counted, and no others', async () => {
  const mosquitto = await world.deadMosquitto();
  const { clock, home } = await withClock(
    bridgeTo(mosquitto, {
      name: 'short',
      maxQueuedHours: 1,
      send: 'alarms',
      topic: 'short/{topic}',
    }),
    bridgeTo(mosquitto, {
      name: 'long',
      maxQueuedHours: 100,
      send: 'alarms',
      topic: 'long/{topic}',
    }),
  );
  const sensor = await world.sensor(home);
  sensor.alarms(5);
  await sensor.settled();
  clock.pass(home.gateway, 2 * HOUR_MS);
  await expect
    .poll(() => accountOf(home.gateway, 'bridge/short', 'alarms'))
    .toEqual({ accepted: 5, delivered: 0, queued: 0, expired: 5, dropped: 0 });
  sensor.alarms(5);
  await sensor.settled();
  expect(await bridgeOf(home, 'short')).toMatchObject({
    queued: 5,
    dropped: { tooOld: 5, tooMany: 0, refused: 0, lost: 0 },
  });
  await mosquitto.start();
  const subscriber = await world.subscriber(mosquitto);
  await untilBridge(home, 'short', { queued: 0, delivered: 5 });
  await untilBridge(home, 'long', { queued: 0, delivered: 10 });
  await subscriber.caughtUp();
  const under = (prefix: string) =>
    subscriber.arrivals.filter(({ topic }) => topic.startsWith(prefix)).map(({ key }) => key);
  expect(under('short/')).toEqual(sensor.published.slice(5));
  expect(under('long/')).toEqual(sensor.published);
});
