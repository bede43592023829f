import mqtt from 'mqtt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestToken } from '../former/clients/api.js';
import { connectDevice, Subscriber } from '../former/clients/mqtt-clients.js';
import { Home } from '../former/home.js';

const FILTERS = ['#', '+/#', 'care-homes/#', 'care-homes/+/devices/+/alarms/#', '+/+/devices/#'];

let home: Home;
let other: Home;

beforeAll(async () => {
  home = await Home.start();
  other = await Home.at(home.gateway);
});

afterAll(() => home.remove());

async function subscriber(token: TestToken, ...filters: string[]): Promise<Subscriber> {
  return (await Subscriber.connect(home.gateway, token)).subscribe(...filters);
}

/** A device of each home has sent an alarm and a retained value, and has been sent a command. */
async function busyHomes() {
  const devices = [await home.device(), await other.device()];
  for (const [index, device] of devices.entries()) {
    const { locationId, manager } = index === 0 ? home : other;
    const sensor = await connectDevice(home.gateway, device);
    await sensor.publishAsync(`devices/${device.id}/alarms`, '{"kind":"fall"}', { qos: 1 });
    const value = { qos: 1, retain: true } as const;
    await sensor.publishAsync(`devices/${device.id}/temperature`, '21', value);
    const { id: username, token: password } = manager;
    const nurse = await mqtt.connectAsync(home.gateway.mqttUrl, { username, password });
    const commands = `care-homes/${locationId}/devices/${device.id}/commands`;
    await nurse.publishAsync(`${commands}/light`, 'on', value);
    await sensor.publishAsync(`devices/${device.id}/alarms`, 'no JSON', { qos: 1 });
    await Promise.all([nurse.endAsync(), sensor.endAsync()]);
  }
  return devices;
}

function locationsIn(nurse: Subscriber): Set<string> {
  return new Set(nurse.received.map(({ topic }) => topic.split('/').slice(0, 2).join('/')));
}

describe.each(FILTERS)('a subscription to %s', (filter) => {
  it('receives what the grants of its token cover, live and retained, and nothing else', async () => {
    const nurse = await subscriber(home.viewer, filter);
    const [device] = await busyHomes();
    const late = await subscriber(home.viewer, filter);
    // Arrives after everything published before.
    await home.publishLast(device ?? (await home.device()), 'alarms', '{"kind":"noise"}');
    for (const one of [nurse, late]) {
      await one.until((all) => all.some(({ topic }) => topic.endsWith('alarms/noise')));
      const elsewhere = [...locationsIn(one)].filter(
        (place) => place !== `care-homes/${home.locationId}` && place !== 'gateway/status',
      );
      expect(elsewhere).toEqual([]);
      await one.end();
    }
  });
});

it('a token for every location gets alarms of a location created later', async () => {
  const everywhere = await home.api.createToken([{ location: '*', role: 'viewer' }]);
  const nurse = await subscriber(everywhere, 'care-homes/+/devices/+/alarms/#');
  const later = await Home.at(home.gateway);
  const device = await later.device();
  const sensor = await connectDevice(home.gateway, device);
  await sensor.publishAsync(`devices/${device.id}/alarms`, '{"kind":"fall"}', { qos: 1 });
  await nurse.untilCount(1);
  expect(nurse.messages()).toMatchObject([{ location: { id: later.locationId } }]);
  await Promise.all([sensor.endAsync(), nurse.end()]);
});

it('a device is visible while it is in a location of the grants, from the move in to the move out', async () => {
  const nurse = await subscriber(home.viewer, '#');
  const device = await other.device();
  const sensor = await connectDevice(home.gateway, device);
  const alarm = (n: number) =>
    sensor.publishAsync(`devices/${device.id}/alarms`, `{"kind":"fall","n":${n}}`, { qos: 1 });
  const move = (from: string, to: string) =>
    home.api.json('POST', `/care-homes/${from}/devices/${device.id}/move`, {
      targetLocationId: to,
    });
  await alarm(1);
  await move(other.locationId, home.locationId);
  await alarm(2);
  await move(home.locationId, other.locationId);
  await alarm(3);
  await move(other.locationId, home.locationId);
  await alarm(4);
  const seen = () =>
    nurse.received.flatMap(({ topic, text }) =>
      topic.includes(`${device.id}/alarms`) ? [JSON.parse(text).data.n] : [],
    );
  await nurse.until(() => seen().includes(4));
  expect(seen()).toEqual([2, 4]);
  await Promise.all([sensor.endAsync(), nurse.end()]);
});

it('a filter for a location outside the grants is denied, and the connection stays open', async () => {
  const nurse = await Subscriber.connect(home.gateway, home.viewer);
  const granted = await nurse.client
    .subscribeAsync([
      `care-homes/${other.locationId}/#`,
      `+/${other.locationId}/#`,
      'gateway/bridges/#',
      '$SYS/#',
      '$share/a/#',
    ])
    .catch((error: unknown) => error);
  expect(granted).toBeInstanceOf(Error);
  expect(nurse.client.connected).toBe(true);
  await nurse.end();
});
