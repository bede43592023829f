import { expect, it } from 'vitest';
import type { UpstreamSubscriber } from '../former/clients/upstream-subscriber.js';
import { median } from '../former/median.js';
import type { Mosquitto } from '../former/servers/mosquitto.js';
import type { Sensor } from './sensor.js';
import { bridgeTo, isAlarmKey, queuedAlarms, reconciled, useWorld } from './world.js';

const world = useWorld();

const BACKLOG = 8_000;
const BACKLOG_DEVICES = 40;
const REPLAY_PER_SECOND = 500;
/** contract.md, 4.4. */
const LIVE_WITHIN_MS = 1_000;
/** At that pace these take two seconds; some may already be on their way when the count begins. */
const PACED = 1_000;
const PACED_MS = 1_400;

async function withBacklog(upstream: Mosquitto, count: number, devices: number, keys: object) {
  const home = await world.homeOfProcess([bridgeTo(upstream, keys)]);
  const sensors = await world.sensors(home, devices);
  for (const sensor of sensors) sensor.alarms(count / devices);
  await Promise.all(sensors.map((sensor) => sensor.settled()));
  return { home, sensors };
}

it('guarantee 3: new alarms go ahead while a backlog is replayed in order, at its own pace', async () => {
  const mosquitto = await world.deadMosquitto();
  const keys = { send: 'alarms', replayPerSecond: REPLAY_PER_SECOND };
  const { home, sensors } = await withBacklog(mosquitto, BACKLOG, BACKLOG_DEVICES, keys);
  expect(await queuedAlarms(home, sensors)).toBe(BACKLOG);
  const fresh = await world.sensors(home, 3);
  await mosquitto.start();
  const subscriber = await world.subscriber(mosquitto);
  await subscriber.untilDistinct(REPLAY_PER_SECOND);
  const delaysMs: number[] = [];
  for (let one = 0; one < 10; one++) {
    for (const sensor of fresh) delaysMs.push(await delayOf(sensor, subscriber));
  }
  await isAtPace(subscriber);

  // Devices with a long backlog: new alarms must not overtake it, so it goes ahead with them.
  for (const sensor of sensors.slice(0, 5)) {
    delaysMs.push(await delayOf(sensor, subscriber));
  }
  expect(median(delaysMs), `${delaysMs}`).toBeLessThan(LIVE_WITHIN_MS);
  await isAtPace(subscriber);
  expect(await queuedAlarms(home, [...sensors, ...fresh])).toBeGreaterThan(0);

  // The rest goes at another pace; the change does not lose the position.
  await home.gateway.configure({
    bridges: [bridgeTo(mosquitto, { send: 'alarms', replayPerSecond: 50_000 })],
  });
  home.gateway.reload();
  await reconciled(home, subscriber, [...sensors, ...fresh]);
});

it('alarms are replayed before telemetry, which does not hold up new alarms', async () => {
  const mosquitto = await world.deadMosquitto();
  const home = await world.homeOfProcess([bridgeTo(mosquitto, { replayPerSecond: 200 })]);
  const sensors = await world.sensors(home, 5);
  for (let number = 0; number < 200; number++) {
    for (const sensor of sensors) sensor.message('temperature', { number });
  }
  for (const sensor of sensors) sensor.alarms(20);
  await Promise.all(sensors.map((sensor) => sensor.settled()));
  await mosquitto.start();
  const subscriber = await world.subscriber(mosquitto);
  const [first] = sensors;
  await subscriber.untilDistinct(150);
  const keys = subscriber.arrivals.flatMap(({ key }) => key ?? []);
  expect(keys.slice(0, 100).every(isAlarmKey)).toBe(true);
  expect(keys.slice(100).some(isAlarmKey)).toBe(false);
  // At that pace the telemetry takes five seconds; each alarm goes ahead of the rest of it.
  const delaysMs: number[] = [];
  for (let one = 0; one < 5 && first !== undefined; one++) {
    delaysMs.push(await delayOf(first, subscriber));
  }
  expect(median(delaysMs), `${delaysMs}`).toBeLessThan(LIVE_WITHIN_MS);
  await home.gateway.configure({ bridges: [bridgeTo(mosquitto, { replayPerSecond: 50_000 })] });
  home.gateway.reload();
  for (const { device, published } of sensors) {
    await subscriber.untilKeys(device.id, published);
    for (const isOne of [isAlarmKey, (key: string) => !isAlarmKey(key)]) {
      expect(subscriber.firstOf(device.id).filter(isOne)).toEqual(published.filter(isOne));
    }
  }
});

/** Checks that the next messages take as long as the pace demands. */
async function isAtPace(subscriber: UpstreamSubscriber): Promise<void> {
  const startedMs = performance.now();
  await subscriber.untilDistinct(subscriber.distinct + PACED);
  expect(performance.now() - startedMs).toBeGreaterThan(PACED_MS);
}

/** The time from the publish to the arrival upstream. */
async function delayOf(sensor: Sensor, subscriber: UpstreamSubscriber): Promise<number> {
  const startedMs = performance.now();
  const id = sensor.alarm();
  await subscriber.untilKeys(sensor.device.id, [id]);
  return performance.now() - startedMs;
}
