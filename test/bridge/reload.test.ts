import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { Subscriber } from '../former/clients/mqtt-clients.js';
import { GatewayHere } from '../former/gateway/gateway-here.js';
import { accountOf } from '../former/metrics.js';
import { bridgeOf, bridgesOf, untilBridge } from './bridge-api.js';
import { bridgeThrough, bridgeTo, reconciled, useWorld } from './world.js';

const world = useWorld();

it('guarantee 5: a reload adds, changes and removes bridges without disturbing others', async () => {
  const mosquitto = await world.mosquitto();
  const kept = await world.proxy(mosquitto);
  const subscriber = await world.subscriber(mosquitto);
  const keptBridge = bridgeThrough(kept, mosquitto, { name: 'kept', topic: 'kept/{topic}' });
  const changing = (keys: object) => bridgeTo(mosquitto, { name: 'changing', ...keys });
  const before = [keptBridge, changing({ topic: 'before/{topic}' })];
  const home = await world.home([...before, bridgeTo(mosquitto, { name: 'leaving' })]);
  const sensor = await world.sensor(home);
  const nurse = await Subscriber.connect(home.gateway, home.viewer);
  await nurse.subscribe(home.filter(sensor.device, 'alarms/#'));
  let closed = 0;
  nurse.client.on('close', () => closed++);
  for (const name of ['kept', 'changing', 'leaving']) {
    await untilBridge(home, name, { connected: true });
  }
  const since = (await bridgeOf(home, 'kept')).connectedSince;
  const topics = (id: string) =>
    subscriber.arrivals
      .filter(({ key }) => key === id)
      .map(({ topic }) => topic.split('/')[0])
      .sort();
  const arrivedThrice = (id: string) =>
    subscriber.until(
      () => topics(id).length === 3,
      () => `${id} came under ${topics(id)}`,
    );

  const first = sensor.alarm();
  await arrivedThrice(first);
  expect(topics(first)).toEqual(['before', 'care-homes', 'kept']);

  const added = bridgeTo(mosquitto, { name: 'added', topic: 'added/{topic}' });
  await home.gateway.configure({
    bridges: [added, keptBridge, changing({ topic: 'after/{topic}' })],
  });
  await home.gateway.reload();
  await expect
    .poll(async () => (await bridgesOf(home)).map(({ name }) => name))
    .toEqual(['added', 'kept', 'changing', 'leaving']);
  await untilBridge(home, 'added', { connected: true });
  await untilBridge(home, 'changing', { connected: true });
  const second = sensor.alarm();
  await arrivedThrice(second);
  await nurse.untilCount(2);
  expect(topics(second)).toEqual(['added', 'after', 'kept']);
  expect(topics(first)).toEqual(['before', 'care-homes', 'kept']);
  expect((await bridgeOf(home, 'kept')).connectedSince).toBe(since);
  expect(kept.attempts).toBe(1);
  expect(closed).toBe(0);
  // The queue belongs to the name.
  await untilBridge(home, 'changing', { queued: 0 });
  expect(await accountOf(home.gateway, 'bridge/changing', 'alarms')).toMatchObject({
    delivered: 2,
  });
  const metrics = await (await fetch(`${home.gateway.httpUrl}/metrics`)).text();
  expect(metrics).toContain('consumer="bridge/added"');
  expect(metrics).toContain('consumer="bridge/leaving"');
  expect(await bridgeOf(home, 'leaving')).toMatchObject({ url: null, connected: false });
  await nurse.end();
});

it('messages queued for a bridge reach its new upstream after a change', async () => {
  const dead = await world.deadMosquitto();
  const mosquitto = await world.mosquitto();
  const subscriber = await world.subscriber(mosquitto);
  const home = await world.home([bridgeTo(dead)]);
  const sensors = await world.sensors(home, 2);
  for (const sensor of sensors) sensor.alarms(50);
  await Promise.all(sensors.map((sensor) => sensor.settled()));
  await home.gateway.configure({ bridges: [bridgeTo(mosquitto)] });
  await home.gateway.reload();
  await reconciled(home, subscriber, sensors);
});

it('a faulty file changes nothing, and the log says why', async () => {
  const mosquitto = await world.mosquitto();
  const proxy = await world.proxy(mosquitto);
  const subscriber = await world.subscriber(mosquitto);
  const bridge = bridgeThrough(proxy, mosquitto);
  const home = await world.homeOfProcess([bridge]);
  const sensor = await world.sensor(home);
  await untilBridge(home, 'region', { connected: true });
  const faulty = [{ bridges: [{ ...bridge, url: 'http://x', qos: 7 }] }, 'bridges: [unclosed'];
  for (const content of faulty) {
    const { length } = home.gateway.lines;
    await home.gateway.configure(content);
    home.gateway.reload();
    const line = await home.gateway.logged(/"level":50|"level":40/, length);
    const paths =
      typeof content === 'string' ? ['gateway.yaml'] : ['bridges.0.url', 'bridges.0.qos'];
    for (const path of paths) expect(line).toContain(path);
    expect(await bridgesOf(home)).toMatchObject([{ name: 'region', connected: true }]);
    sensor.alarms(5);
    await reconciled(home, subscriber, [sensor]);
  }
  expect(proxy.attempts).toBe(1);

  // The corrected file takes effect.
  await home.gateway.configure({ bridges: [bridge, bridgeTo(mosquitto, { name: 'other' })] });
  home.gateway.reload();
  await expect.poll(() => bridgesOf(home)).toHaveLength(2);
});

it('a gateway whose port is in use connects no bridge', async () => {
  const mosquitto = await world.mosquitto();
  const proxy = await world.proxy(mosquitto);
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = z.object({ port: z.number() }).parse(taken.address());
  const gateway = await GatewayHere.create({ GATEWAY_MQTT_PORT: String(port) });
  world.onEnd(() => gateway.remove());
  await gateway.configure({ bridges: [bridgeThrough(proxy, mosquitto)] });
  await expect(gateway.start()).rejects.toThrow();
  expect(proxy.attempts).toBe(0);
  taken.close();
  await once(taken, 'close');
  await gateway.start();
  await proxy.untilAttempts(1);
});
