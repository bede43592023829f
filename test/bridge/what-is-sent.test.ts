import { describe, expect, it } from 'vitest';
import { Subscriber } from '../former/clients/mqtt-clients.js';
import type { Arrival } from '../former/clients/upstream-subscriber.js';
import { accountOf } from '../former/metrics.js';
import { bridgeOf, untilBridge } from './bridge-api.js';
import { bridgeTo, isAlarmKey, reconciled, useWorld } from './world.js';

const world = useWorld();

const MESSAGES = 10;

/** Whether an arrival is a device's own message and not its presence. */
function isMessage({ topic, key }: Arrival): boolean {
  return key !== undefined && !topic.endsWith('/status');
}

describe('a bridge with only a name and a URL', () => {
  it('sends everything at QoS 1 under its forwarded topic', async () => {
    const mosquitto = await world.mosquitto();
    const subscriber = await world.subscriber(mosquitto);
    const home = await world.home([{ name: 'region', url: mosquitto.url }]);
    const sensor = await world.sensor(home, 'Bett 7');
    await home.api.setCustomData(sensor.device, '{"ref":12345678901234567890}');
    await untilBridge(home, 'region', { connected: true });
    const nurse = await Subscriber.connect(home.gateway, home.viewer);
    await nurse.subscribe(`care-homes/${home.locationId}/#`);
    sensor.alarm('helpCall', { confidence: 0.9 });
    sensor.message('battery/level', { percent: 80 }, { qos: 2 });
    sensor.message('door', { open: true }, { retain: true });
    await sensor.settled();
    await subscriber.untilKeys(sensor.device.id, sensor.published);
    const shown = ({ topic, text, qos, retain }: (typeof nurse.received)[number]) => ({
      topic,
      text,
      qos,
      retain,
    });
    const isOf = ({ topic }: { topic: string }) =>
      topic.includes(sensor.device.id) && !topic.endsWith('/status');
    await nurse.until((all) => all.filter(isOf).length >= 3);
    const byTopic = (one: { topic: string }, other: { topic: string }) =>
      one.topic < other.topic ? -1 : 1;
    const upstream = subscriber.arrivals.filter(isMessage).map(shown).sort(byTopic);
    expect(upstream).toEqual(nurse.received.filter(isOf).map(shown).sort(byTopic));
    expect(upstream.map(({ qos, retain }) => [qos, retain])).toEqual(Array(3).fill([1, false]));
    await nurse.end();
  });
});

describe('a configured bridge', () => {
  it('selects by location, kind and filter, and publishes under the topic of the template', async () => {
    const mosquitto = await world.mosquitto();
    const subscriber = await world.subscriber(mosquitto);
    const home = await world.home([]);
    const { id: elsewhere } = await home.api.createLocation('Elsewhere');
    const choices = {
      all: {},
      alarms: { send: 'alarms' },
      kinds: { kinds: ['fall', 'helpCall'] },
      location: { locations: [elsewhere] },
      filter: { filters: ['care-homes/+/devices/+/door'] },
      both: { locations: [home.locationId], send: 'alarms', filters: ['+/+/+/+/alarms/noise'] },
    };
    const bridges = Object.entries(choices).map(([name, keys]) =>
      bridgeTo(mosquitto, { name, topic: `${name}/{topic}`, ...keys }),
    );
    const template = { name: 'template', topic: 'x/{kind}/{deviceId}/{locationId}/y' };
    await home.gateway.configure({ bridges: [...bridges, bridgeTo(mosquitto, template)] });
    await home.gateway.stop();
    await home.gateway.start();
    for (const name of [...Object.keys(choices), 'template']) {
      await untilBridge(home, name, { connected: true });
    }
    const here = await world.sensor(home);
    const there = world.sensorOf(home, await home.api.createDevice(elsewhere));
    for (const sensor of [here, there]) {
      for (const kind of ['fall', 'noise', 'helpCall']) sensor.alarm(kind);
      sensor.message('door', { open: sensor.device.id });
      sensor.message('battery/level', { percent: sensor.device.id });
      await sensor.settled();
    }
    // A last message for each bridge shows that no more will come.
    for (const sensor of [here, there]) {
      for (const kind of ['fall', 'noise']) sensor.alarm(kind, { last: true });
      sensor.message('door', { last: sensor.device.id });
      await sensor.settled();
    }
    const counts = { all: 16, alarms: 10, kinds: 6, location: 8, filter: 4, both: 2, template: 16 };
    for (const name of Object.keys(counts)) await untilBridge(home, name, { queued: 0 });
    await subscriber.caughtUp();
    const seen = (prefix: string) =>
      subscriber.arrivals
        .filter((one) => isMessage(one) && one.topic.startsWith(`${prefix}/`))
        .map(({ topic }) => topic.slice(prefix.length + 1));
    for (const [name, count] of Object.entries(counts)) {
      expect(seen(name === 'template' ? 'x' : name), name).toHaveLength(count);
    }
    const rests = (prefix: string) =>
      new Set(seen(prefix).map((topic) => topic.split('/').slice(4).join('/')));
    const alarms = ['alarms/fall', 'alarms/noise', 'alarms/helpCall'];
    expect(rests('alarms')).toEqual(new Set(alarms));
    expect(rests('kinds')).toEqual(new Set(['alarms/fall', 'alarms/helpCall']));
    expect(rests('location')).toEqual(new Set([...alarms, 'door', 'battery/level']));
    expect(seen('location').every((topic) => topic.includes(elsewhere))).toBe(true);
    expect(rests('filter')).toEqual(new Set(['door']));
    expect(new Set(seen('both'))).toEqual(new Set([home.filter(here.device, 'alarms/noise')]));
    const place = `${here.device.id}/${home.locationId}/y`;
    for (const kind of ['fall', 'door', 'battery/level']) {
      expect(seen('x')).toContain(`${kind}/${place}`);
    }
  });

  it('publishes retained messages when configured', async () => {
    const mosquitto = await world.mosquitto();
    const home = await world.home([
      bridgeTo(mosquitto, { retain: true, topic: 'x/{kind}', send: 'alarms' }),
    ]);
    const sensor = await world.sensor(home);
    sensor.alarm('fall');
    const newest = sensor.alarm('fall');
    await sensor.settled();
    await untilBridge(home, 'region', { queued: 0, delivered: 2 });
    const later = await world.subscriber(mosquitto);
    const { retain, key } = await later.arrival(({ topic }) => topic === 'x/fall');
    expect([retain, key]).toEqual([true, newest]);
  });
});

it('publishes at the configured QoS and protocol version', async () => {
  const mosquitto = await world.mosquitto();
  const subscriber = await world.subscriber(mosquitto);
  const bridges = (['3.1.1', 5] as const).flatMap((protocol) =>
    ([0, 1, 2] as const).map((qos) => {
      const name = `p${protocol === 5 ? 5 : 2}-qos${qos}`;
      return { name, qos, protocol, clientId: name, topic: `${name}/{topic}` };
    }),
  );
  const home = await world.home(bridges.map((keys) => bridgeTo(mosquitto, keys)));
  const sensor = await world.sensor(home);
  for (const { name } of bridges) await untilBridge(home, name, { connected: true });
  for (let number = 0; number < MESSAGES; number++) {
    sensor.alarm();
    sensor.message('temperature', { number });
  }
  await sensor.settled();
  for (const { name, qos } of bridges) {
    await untilBridge(home, name, { queued: 0 });
    const account = await accountOf(home.gateway, `bridge/${name}`, 'alarms');
    expect(account).toMatchObject({ accepted: MESSAGES, delivered: MESSAGES });
    const came = () =>
      subscriber.arrivals.filter((one) => isMessage(one) && one.topic.startsWith(`${name}/`));
    await subscriber.until(
      () => came().length >= 2 * MESSAGES,
      () => `${came().length} came of ${name}`,
    );
    expect(new Set(came().map((one) => one.qos))).toEqual(new Set([qos]));
    const alarms = came().flatMap(({ key = '{}' }) => (isAlarmKey(key) ? key : []));
    expect(alarms).toEqual(sensor.published.filter(isAlarmKey));
    // Mosquitto's log calls 3.1.1 "p2" and 5 "p5".
    expect(mosquitto.lines.join('\n')).toMatch(
      new RegExp(`as ${name} \\(${name.slice(0, 2)}, c1, k30`),
    );
  }
});

it('speaks MQTT 5 by default when the upstream does', async () => {
  const mosquitto = await world.mosquitto();
  const home = await world.home([bridgeTo(mosquitto, { clientId: 'haus' })]);
  await untilBridge(home, 'region', { connected: true });
  expect(mosquitto.lines.join('\n')).toMatch(/as haus \(p5,/);
});

it('falls back to 3.1.1 by default when the upstream speaks nothing newer', async () => {
  const { url } = await world.aedes();
  const subscriber = await world.subscriberAt(url);
  const home = await world.home([bridgeTo({ url })]);
  const sensors = await world.sensors(home, 2);
  for (const sensor of sensors) sensor.alarms(20);
  await reconciled(home, subscriber, sensors);
  expect(await bridgeOf(home, 'region')).toMatchObject({ connected: true });
});

it('sends over WebSocket', async () => {
  const { webSocketUrl } = await world.aedes();
  const subscriber = await world.subscriberAt(webSocketUrl);
  const home = await world.home([bridgeTo({ url: webSocketUrl })]);
  const sensors = await world.sensors(home, 2);
  for (const sensor of sensors) sensor.alarms(20);
  await reconciled(home, subscriber, sensors);
});

it('two gateways with the same configuration do not take over each other’s session upstream', async () => {
  const mosquitto = await world.mosquitto();
  const subscriber = await world.subscriber(mosquitto);
  const homes = [
    await world.home([bridgeTo(mosquitto)]),
    await world.home([bridgeTo(mosquitto)]),
  ] as const;
  for (const home of homes) await untilBridge(home, 'region', { connected: true });
  for (const home of homes) {
    const sensor = await world.sensor(home);
    sensor.alarms(5);
    await reconciled(home, subscriber, [sensor]);
    expect(await bridgeOf(home, 'region')).toMatchObject({ connected: true, lastError: null });
  }
});
