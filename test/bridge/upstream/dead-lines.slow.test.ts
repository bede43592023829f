import { expect, it } from 'vitest';
import type { Direction } from '../../former/servers/cut-proxy.js';
import { untilBridge } from '../bridge-api.js';
import { bridgeThrough, reconciled, useWorld } from '../world.js';

const world = useWorld();

async function line(keys: object = {}) {
  const mosquitto = await world.mosquitto();
  const proxy = await world.proxy(mosquitto);
  const subscriber = await world.subscriber(mosquitto);
  const home = await world.home([bridgeThrough(proxy, mosquitto, keys)]);
  await untilBridge(home, 'region', { connected: true });
  return { proxy, subscriber, home };
}

it.each<Direction>(['up', 'down'])(
  'detects a silently cut line (%s) by a missing acknowledgement, and loses nothing',
  async (direction) => {
    const { proxy, subscriber, home } = await line();
    const sensors = await world.sensors(home, 2);
    for (const sensor of sensors) sensor.alarms(20);
    await reconciled(home, subscriber, sensors);

    proxy.swallow(direction);
    for (const sensor of sensors) sensor.alarms(20);
    await untilBridge(home, 'region', { connected: false, lastError: { kind: 'silent' } });
    proxy.pass();
    for (const sensor of sensors) sensor.alarms(20);
    await reconciled(home, subscriber, sensors);
  },
);

it('detects a silently cut line by the pings when there is nothing to send', async () => {
  const { proxy, home } = await line({ keepAliveSeconds: 1 });
  proxy.swallow();
  await untilBridge(home, 'region', { connected: false, lastError: { kind: 'silent' } });
  proxy.pass();
  await untilBridge(home, 'region', { connected: true });
});

it('loses nothing and keeps the order when its line is cut repeatedly under load', async () => {
  const { proxy, subscriber, home } = await line({ maxInFlight: 20 });
  const sensors = await world.sensors(home, 3);
  const calm = new AbortController();
  const alarms = sensors.map((sensor) => sensor.keepAlarming(50, calm.signal));
  for (let cut = 1; cut <= 3; cut++) {
    const { distinct } = subscriber;
    await subscriber.untilDistinct(distinct + 30);
    const { attempts } = proxy;
    proxy.reset();
    await proxy.untilAttempts(attempts + 1);
  }
  calm.abort();
  await Promise.all(alarms);
  await reconciled(home, subscriber, sensors);
});

it('an unreachable upstream is retried with increasing backoff', async () => {
  const { proxy, subscriber, home } = await line();
  const [sensor] = await world.sensors(home, 1);
  const { attempts } = proxy;
  proxy.refuse();
  sensor?.alarms(5);
  await proxy.untilAttempts(attempts + 3);
  const [first = 0, , third = 0] = proxy.attemptsMs.slice(attempts);
  expect(third - first).toBeGreaterThan(1_300);
  proxy.pass();
  await reconciled(home, subscriber, sensor === undefined ? [] : [sensor]);
});
