import { expect, it } from 'vitest';
import { RawClient } from '../former/clients/raw-client.js';
import { deadLettersOf, untilBridge } from './bridge-api.js';
import { bridgeTo, useWorld } from './world.js';

const world = useWorld();

async function commanded(keys: object = {}) {
  const mosquitto = await world.mosquitto();
  const subscriber = await world.subscriber(mosquitto);
  const home = await world.home([bridgeTo(mosquitto, { commands: ['#'], ...keys })]);
  const device = await home.device();
  const session = { clientId: device.id, clean: false };
  const sensor = await RawClient.connect(home.gateway, device, session);
  world.onEnd(async () => sensor.vanish());
  expect(await sensor.subscribe([`devices/${device.id}/commands/#`])).toEqual([1]);
  await untilBridge(home, 'region', { connected: true });
  // The last command shows that no more will come.
  const received = async () => {
    await subscriber.publish(`devices/${device.id}/commands/last`, '');
    const isLast = (topic: string) => topic.endsWith('/commands/last');
    await sensor.until(
      (packets) => packets.some((one) => one.cmd === 'publish' && isLast(one.topic)),
      'the last command did not come',
    );
    return sensor.packets.flatMap((one) =>
      one.cmd === 'publish' && !isLast(one.topic) ? [[one.topic, String(one.payload)]] : [],
    );
  };
  return { mosquitto, subscriber, home, device, sensor, session, received };
}

it('a command from upstream reaches the device like one from a manager', async () => {
  const { subscriber, home, device, received } = await commanded();
  const { id: elsewhere } = await home.api.createLocation('Elsewhere');
  await subscriber.publish(home.filter(device, 'commands/light/2'), 'on');
  await subscriber.publish(`site-7/devices/${device.id}/commands/door`, 'shut');
  await subscriber.publish(`care-homes/${elsewhere}/devices/${device.id}/commands/x`, 'foreign');
  await subscriber.publish(home.filter(device, 'alarms/fall'), '{}');
  await subscriber.publish(`devices/${elsewhere}/commands/x`, 'nobody');
  await subscriber.publish(`devices/nobody/commands/x`, 'nobody');
  expect(await received()).toEqual([
    [`devices/${device.id}/commands/light/2`, 'on'],
    [`devices/${device.id}/commands/door`, 'shut'],
  ]);
});

it('a command sent while the gateway is down is not lost', async () => {
  const { subscriber, home, device, session } = await commanded();
  await home.gateway.stop();
  await subscriber.publish(home.filter(device, 'commands/light'), 'on');
  await home.gateway.start();
  const sensor = await RawClient.connect(home.gateway, device, session);
  world.onEnd(async () => sensor.vanish());
  expect(await sensor.next('publish')).toMatchObject({
    topic: `devices/${device.id}/commands/light`,
  });
});

it.each(['3.1.1', 5])(
  'messages that the bridge sent do not come back, with protocol %s',
  async (protocol) => {
    const { subscriber, home, device, received } = await commanded({ protocol });
    const sensor = world.sensorOf(home, await home.device());
    sensor.alarms(5);
    await sensor.settled();
    const sent = [...sensor.published];
    // The upstream would send it back as a command to the other device.
    sensor.message(`x/devices/${device.id}/commands/light`, { disguised: true });
    sent.push(sensor.message('door', { open: true }));
    await subscriber.untilKeys(sensor.device.id, sent);
    await subscriber.caughtUp();
    expect(await received()).toEqual([]);
    const own = subscriber.arrivals.filter(({ deviceId }) => deviceId === sensor.device.id);
    expect(own.flatMap(({ key }) => key ?? [])).toEqual(sent);
    expect((await deadLettersOf(home, 'region')).map(({ topic }) => topic)).toEqual([
      home.filter(sensor.device, `x/devices/${device.id}/commands/light`),
    ]);
  },
);

it('a command from one upstream does not go to another', async () => {
  const { mosquitto, subscriber, home, device, received } = await commanded();
  const other = await world.mosquitto();
  const otherSubscriber = await world.subscriber(other);
  const commands = ['#'];
  await home.gateway.configure({
    bridges: [bridgeTo(mosquitto, { commands }), bridgeTo(other, { name: 'other', commands })],
  });
  await home.gateway.reload();
  await expect.poll(() => home.api.json('GET', '/bridges')).toHaveLength(2);
  await untilBridge(home, 'other', { connected: true });
  await subscriber.publish(home.filter(device, 'commands/light'), 'on');
  expect(await received()).toEqual([[`devices/${device.id}/commands/light`, 'on']]);
  const sensor = world.sensorOf(home, await home.device());
  sensor.alarm();
  await otherSubscriber.untilKeys(sensor.device.id, sensor.published);
  const echoes = otherSubscriber.arrivals.filter(({ topic }) => topic.includes('/commands/'));
  expect(echoes).toEqual([]);
  expect(subscriber.arrivals.filter(({ text }) => text === 'on')).toHaveLength(1);
});
