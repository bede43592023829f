import { expect, it } from 'vitest';
import { median } from '../../former/median.js';
import { accountOf } from '../../former/metrics.js';
import { bridgeOf, untilBridge } from '../bridge-api.js';
import { bridgeTo, isAlarmKey, queuedAlarms, reconciled, useWorld } from '../world.js';

const world = useWorld();

const MAX_QUEUED = 100;

/** Publishes alarms while the rest of the test goes on. */
function alarming(sensors: readonly { keepAlarming: Alarming }[], perSecond = 25) {
  const calm = new AbortController();
  const alarms = Promise.all(sensors.map((one) => one.keepAlarming(perSecond, calm.signal)));
  return async () => {
    calm.abort();
    await alarms;
  };
}
type Alarming = (perSecond: number, signal: AbortSignal) => Promise<void>;

it('guarantee 2: an upstream that is killed and restarted under load misses nothing', async () => {
  const mosquitto = await world.mosquitto();
  const subscriber = await world.subscriber(mosquitto);
  const home = await world.home([bridgeTo(mosquitto)]);
  const sensors = await world.sensors(home, 2);
  const calm = alarming(sensors);
  for (let kill = 1; kill <= 2; kill++) {
    await untilBridge(home, 'region', { connected: true });
    await subscriber.caughtUp();
    const { distinct } = subscriber;
    await subscriber.untilDistinct(distinct + 30);
    await mosquitto.kill();
    await untilBridge(home, 'region', { connected: false });
    await mosquitto.start();
  }
  await calm();
  await reconciled(home, subscriber, sensors);
});

it('guarantee 2: an upstream that is stopped misses nothing', async () => {
  const mosquitto = await world.mosquitto();
  const subscriber = await world.subscriber(mosquitto);
  const home = await world.home([bridgeTo(mosquitto)]);
  const sensors = await world.sensors(home, 2);
  const calm = alarming(sensors);
  await subscriber.untilDistinct(20);
  await mosquitto.stop();
  await untilBridge(home, 'region', { connected: false });
  await mosquitto.start();
  await untilBridge(home, 'region', { connected: true });
  await calm();
  await reconciled(home, subscriber, sensors);
});

it('an upstream that is down from the start gets everything once it is up', async () => {
  const mosquitto = await world.deadMosquitto();
  const home = await world.home([bridgeTo(mosquitto)]);
  const sensors = await world.sensors(home, 2);
  for (const sensor of sensors) {
    for (let number = 0; number < 50; number++) {
      sensor.alarm();
      sensor.message('temperature', { number });
    }
    await sensor.settled();
  }
  expect(await queuedAlarms(home, sensors)).toBe(100);
  await untilBridge(home, 'region', { connected: false, delivered: 0 });
  await mosquitto.start();
  const subscriber = await world.subscriber(mosquitto);
  for (const { device, published } of sensors) {
    await subscriber.untilRecords(device.id, published.length);
    // Alarms go first; each of the two logs keeps its order.
    const first = subscriber.firstOf(device.id);
    expect(first.filter(isAlarmKey)).toEqual(published.filter(isAlarmKey));
    expect(first.filter((key) => !isAlarmKey(key))).toEqual(
      published.filter((key) => !isAlarmKey(key)),
    );
  }
  await untilBridge(home, 'region', { connected: true, queued: 0 });
  expect((await bridgeOf(home, 'region')).delivered).toBeGreaterThanOrEqual(200);
});

it('a backlog survives a stop of the gateway, and a kill in the middle of its replay', async () => {
  const mosquitto = await world.deadMosquitto();
  const home = await world.homeOfProcess([
    bridgeTo(mosquitto, { maxInFlight: 10, replayPerSecond: 500 }),
  ]);
  const sensors = await world.sensors(home, 3);
  for (const sensor of sensors) sensor.alarms(100);
  await Promise.all(sensors.map((sensor) => sensor.settled()));
  await home.gateway.stop();
  await home.gateway.start();
  expect(await queuedAlarms(home, sensors)).toBe(300);
  await mosquitto.start();
  const subscriber = await world.subscriber(mosquitto);
  await subscriber.untilDistinct(100);
  await home.gateway.kill();
  await home.gateway.start();
  for (const sensor of sensors) sensor.alarms(10);
  await reconciled(home, subscriber, sensors);
});

it('guarantees 5 and 6: a bridge whose upstream stays dead keeps every alarm, even beyond the telemetry limit, and does not affect the other', async () => {
  const dead = await world.deadMosquitto();
  const mosquitto = await world.mosquitto();
  const subscriber = await world.subscriber(mosquitto);
  const home = await world.home([
    bridgeTo(dead, { name: 'dead', send: 'alarms', maxQueuedMessages: MAX_QUEUED }),
    bridgeTo(mosquitto, { name: 'alive' }),
  ]);
  const sensors = await world.sensors(home, 3);
  const calm = alarming(sensors);
  const delaysMs: number[] = [];
  for (let one = 0; one < 5; one++) {
    const [sensor] = sensors;
    const startedMs = performance.now();
    const id = sensor?.alarm();
    const { atMs } = await subscriber.arrival(({ key }) => key === id);
    delaysMs.push(atMs - startedMs);
  }
  expect(median(delaysMs)).toBeLessThan(1_000);
  await subscriber.untilDistinct(MAX_QUEUED + 20);
  await calm();
  await reconciled(home, subscriber, sensors, 'alive');
  const { accepted, ...account } = await accountOf(home.gateway, 'bridge/dead', 'alarms');
  expect(accepted).toBeGreaterThan(MAX_QUEUED);
  expect(account).toEqual({ delivered: 0, queued: accepted, expired: 0, dropped: 0 });
  expect(await bridgeOf(home, 'dead')).toMatchObject({
    connected: false,
    queued: accepted,
    dropped: { tooMany: 0, tooOld: 0, refused: 0, lost: 0 },
    lastError: { kind: 'unreachable' },
  });
});

it('a frozen upstream is abandoned, and gets everything when it thaws', async () => {
  const mosquitto = await world.mosquitto();
  const subscriber = await world.subscriber(mosquitto);
  const home = await world.home([bridgeTo(mosquitto)]);
  const sensors = await world.sensors(home, 2);
  const calm = alarming(sensors);
  await subscriber.untilDistinct(20);
  mosquitto.freeze();
  await untilBridge(home, 'region', { connected: false, lastError: { kind: 'silent' } });
  mosquitto.thaw();
  await untilBridge(home, 'region', { connected: true });
  await calm();
  await reconciled(home, subscriber, sensors);
});
