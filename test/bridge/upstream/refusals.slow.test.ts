import mqtt from 'mqtt';
import { expect, it } from 'vitest';
import { accountOf } from '../../former/metrics.js';
import { bridgeOf, deadLettersOf, untilBridge } from '../bridge-api.js';
import { bridgeThrough, bridgeTo, reconciled, useWorld } from '../world.js';

const world = useWorld();

const CREDENTIALS = { username: 'gateway', password: 'right' };
const REFUSED = 2;
const WATCHER = { username: 'watcher', password: 'watching' };

it('reports wrong credentials once, retries with a backoff, and loses nothing once they are corrected', async () => {
  const mosquitto = await world.mosquitto({ users: { gateway: 'other', watcher: 'watching' } });
  const proxy = await world.proxy(mosquitto);
  const subscriber = await world.subscriber(mosquitto, WATCHER);
  const home = await world.home([bridgeThrough(proxy, mosquitto, CREDENTIALS)]);
  const sensor = await world.sensor(home);
  sensor.alarms(20);
  await untilBridge(home, 'region', { connected: false, lastError: { kind: 'credentials' } });
  await proxy.untilAttempts(2);
  const [first = 0, second = 0] = proxy.attemptsMs;
  expect(second - first).toBeGreaterThan(2_000);
  // When the status shows its time, the gateway has noticed the second refusal.
  await expect
    .poll(async () => Date.parse((await bridgeOf(home, 'region')).lastError?.at ?? ''))
    .toBeGreaterThan(Date.now() - (performance.now() - second) - 1_000);
  const said = home.gateway.lines.filter((line) => /credentials/.test(line));
  expect(said, said.join('\n')).toHaveLength(1);
  const log = home.gateway.lines.join('\n');
  for (const secret of [CREDENTIALS.password, 'watching']) expect(log).not.toContain(`"${secret}"`);

  await mosquitto.setUsers({ gateway: CREDENTIALS.password, watcher: 'watching' });
  await reconciled(home, subscriber, [sensor]);
  expect(proxy.attempts).toBeLessThanOrEqual(4);
});

// Mosquitto 2.0 ends the connection after each refused PUBLISH where `max_queued_messages` is 0.
it.each(['keeps', 'ends'])(
  'makes dead letters of messages under a denied topic and delivers the rest, even if the upstream %s the connection',
  async (way) => {
    const mosquitto = await world.mosquitto({
      ...(way === 'ends' && { settings: { max_queued_messages: 0 } }),
      acl: [
        'topic read #',
        'topic write upstream-subscriber/#',
        'topic write care-homes/+/devices/+/alarms/fall',
      ],
    });
    const subscriber = await world.subscriber(mosquitto);
    const home = await world.home([bridgeTo(mosquitto, { protocol: 5, send: 'alarms' })]);
    const sensor = await world.sensor(home);
    const taken: string[] = [];
    for (let one = 0; one < REFUSED; one++) {
      taken.push(sensor.alarm('fall'));
      sensor.alarm('noise');
    }
    await sensor.settled();
    await subscriber.untilRecords(sensor.device.id, taken.length);
    expect(subscriber.firstOf(sensor.device.id)).toEqual(taken);
    const dropped = { refused: REFUSED, tooMany: 0, tooOld: 0, lost: 0 };
    await untilBridge(home, 'region', { connected: true, queued: 0, delivered: REFUSED, dropped });
    expect(await accountOf(home.gateway, 'bridge/region')).toEqual({
      accepted: 2 * REFUSED,
      delivered: REFUSED,
      queued: 0,
      expired: 0,
      dropped: REFUSED,
    });
    const aside = await deadLettersOf(home, 'region');
    expect(aside.map(({ topic, reason }) => [topic, reason])).toEqual(
      Array.from({ length: REFUSED }, () => [
        home.filter(sensor.device, 'alarms/noise'),
        'Not authorized',
      ]),
    );

    // The count is the same after a restart, and no dead letter is tried again.
    await home.gateway.stop();
    await home.gateway.start();
    taken.push(sensor.alarm('fall'));
    await subscriber.untilKeys(sensor.device.id, taken);
    await untilBridge(home, 'region', { queued: 0, delivered: REFUSED + 1, dropped });
    expect(await deadLettersOf(home, 'region')).toHaveLength(REFUSED);
  },
);

/** CONNACK announces the first; the bridge finds out the second by trying. */
it.each(['max_packet_size', 'message_size_limit'])(
  'makes a dead letter of a message that is too large for the upstream (%s), and delivers the rest',
  async (setting) => {
    const mosquitto = await world.mosquitto({ settings: { [setting]: 3_000 } });
    const subscriber = await world.subscriber(mosquitto);
    const home = await world.home([bridgeTo(mosquitto, { protocol: 5, send: 'alarms' })]);
    const sensor = await world.sensor(home);
    const taken: string[] = [];
    for (let one = 0; one < REFUSED; one++) {
      taken.push(sensor.alarm('fall'));
      sensor.alarm('noise', { much: 'x'.repeat(4_000) });
    }
    await sensor.settled();
    await subscriber.untilRecords(sensor.device.id, taken.length);
    expect(subscriber.firstOf(sensor.device.id)).toEqual(taken);
    const dropped = { refused: REFUSED, tooMany: 0, tooOld: 0, lost: 0 };
    await untilBridge(home, 'region', { connected: true, queued: 0, delivered: REFUSED, dropped });
    const [newest] = await deadLettersOf(home, 'region');
    expect(newest).toMatchObject({
      topic: home.filter(sensor.device, 'alarms/noise'),
      reason: 'Packet too large',
    });
  },
);

it('retries a full upstream less and less often, and delivers everything when it has room', async () => {
  // The least memory that it starts with, and a subscriber for which it keeps everything.
  const mosquitto = await world.mosquitto({ settings: { memory_limit: 400_000 } });
  const hoarder = await mqtt.connectAsync(mosquitto.url, { clientId: 'hoarder', clean: false });
  await hoarder.subscribeAsync('#', { qos: 1 });
  await hoarder.endAsync();
  const proxy = await world.proxy(mosquitto);
  const subscriber = await world.subscriber(mosquitto);
  const home = await world.home([bridgeThrough(proxy, mosquitto)]);
  const sensor = await world.sensor(home);
  await untilBridge(home, 'region', { connected: true });
  const { attempts } = proxy;
  for (let one = 0; one < 50; one++) sensor.alarm('fall', { much: 'x'.repeat(10_000) });
  await sensor.settled();
  await proxy.untilAttempts(attempts + 3);
  const [first = 0, , third = 0] = proxy.attemptsMs.slice(attempts);
  expect(third - first).toBeGreaterThan(1_300);
  expect((await bridgeOf(home, 'region')).queued).toBeGreaterThan(0);

  await mosquitto.stop();
  mosquitto.change({ settings: {} });
  await mosquitto.start();
  await reconciled(home, subscriber, [sensor]);
});

it('retries with a backoff an upstream that accepts no more connections, until it does', async () => {
  const mosquitto = await world.mosquitto({ settings: { max_connections: 1 } });
  const subscriber = await world.subscriber(mosquitto);
  const home = await world.home([bridgeTo(mosquitto, { send: 'alarms' })]);
  const sensor = await world.sensor(home);
  sensor.alarms(5);
  await sensor.settled();
  await untilBridge(home, 'region', { connected: false, queued: 5 });
  await mosquitto.stop();
  mosquitto.change({ settings: { max_connections: 2 } });
  await mosquitto.start();
  await reconciled(home, subscriber, [sensor]);
});

it('loses nothing when another client takes over its client id', async () => {
  const mosquitto = await world.mosquitto();
  const proxy = await world.proxy(mosquitto);
  const subscriber = await world.subscriber(mosquitto);
  const keys = { clientId: 'haus-am-see' };
  const home = await world.home([bridgeThrough(proxy, mosquitto, keys)]);
  const sensor = await world.sensor(home);
  await untilBridge(home, 'region', { connected: true });
  const { attempts } = proxy;
  sensor.alarms(20);
  const other = await mqtt.connectAsync(mosquitto.url, { ...keys, reconnectPeriod: 0 });
  sensor.alarms(20);
  await proxy.untilAttempts(attempts + 1);
  await other.endAsync(true);
  await reconciled(home, subscriber, [sensor]);
});
