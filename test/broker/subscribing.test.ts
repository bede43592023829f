import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestDevice, TestToken } from '../former/clients/api.js';
import {
  connectPacket,
  credentials,
  publishPacket,
  RawClient,
} from '../former/clients/raw-client.js';
import { ADMIN_TOKEN } from '../former/gateway/running-gateway.js';
import { Home } from '../former/home.js';

const DENIED = 0x80;

let home: Home;
let device: TestDevice;
let elsewhere: string;
let stranger: TestDevice;

beforeAll(async () => {
  home = await Home.start();
  device = await home.device();
  elsewhere = (await home.api.createLocation('Elsewhere')).id;
  stranger = await home.api.createDevice(elsewhere, 'Bett 9');
});

afterAll(() => home.remove());

/** The topics of all messages up to that of the home's own device. */
async function topicsUpToOwnMessage(subscriber: RawClient): Promise<string[]> {
  const foreign = await RawClient.connect(home.gateway, stranger);
  await foreign.publish(`devices/${stranger.id}/alarms`, '{"kind":"fall"}', 1);
  await foreign.publish(`devices/${stranger.id}/x`, '1', 1);
  await foreign.publish(`devices/${stranger.id}/status`, 'rejected', 1);
  foreign.vanish();
  const manager = await RawClient.connect(home.gateway, home.manager);
  await manager.publish(home.filter(device, 'commands/x'), '1', 1);
  manager.vanish();
  const own = await RawClient.connect(home.gateway, device);
  await own.publish(`devices/${device.id}/x`, '1', 1);
  own.vanish();
  const topics = () =>
    subscriber.packets.flatMap((packet) => (packet.cmd === 'publish' ? [packet.topic] : []));
  await subscriber.until(() => topics().includes(home.filter(device, 'x')), 'the own did not come');
  return topics().filter((topic) => !topic.endsWith('/status'));
}

/** Filters for something outside the grants, by what they ask for. */
const foreignToViewer: [string, () => string][] = [
  ['another location', () => `care-homes/${elsewhere}/#`],
  ["another location's alarms", () => `care-homes/${elsewhere}/devices/+/alarms/+`],
  ['another location, behind a wildcard', () => `+/${elsewhere}/#`],
  ['the status of bridges', () => 'gateway/bridges/#'],
  ['no location', () => 'care-homes//#'],
  ['only the prefix', () => 'care-homes'],
  ["a device's publishes", () => `devices/${device.id}/alarms`],
  ["a device's commands", () => `devices/${device.id}/commands/#`],
  ['a shared subscription', () => `$share/group/care-homes/${elsewhere}/#`],
  ['a queue subscription', () => `$queue/care-homes/${home.locationId}/#`],
  ['a slash before', () => `/care-homes/${home.locationId}/#`],
];

describe('an access token of one location', () => {
  it.each(foreignToViewer)('is denied %s, and its valid filter works', async (_what, filter) => {
    const nurse = await RawClient.connect(home.gateway, home.viewer);
    const good = `care-homes/${home.locationId}/#`;
    expect(await nurse.subscribe([filter(), good])).toEqual([DENIED, 1]);
    expect(await topicsUpToOwnMessage(nurse)).toEqual([home.filter(device, 'x')]);
    nurse.vanish();
  });

  it.each([
    ['a reconnect', false],
    ['a restart of the gateway', true],
  ])('fault 5: is still denied each of them after %s', async (_when, isRestarted) => {
    const session = { clientId: `foreign-${isRestarted}`, clean: false };
    const filters = foreignToViewer.map(([, filter]) => filter());
    const good = `care-homes/${home.locationId}/#`;
    const before = await RawClient.connect(home.gateway, home.viewer, session);
    expect(await before.subscribe([...filters, good])).toEqual([...filters.map(() => DENIED), 1]);
    before.vanish();
    if (isRestarted) {
      await home.gateway.stop();
      await home.gateway.start();
    }
    const after = await RawClient.connect(home.gateway, home.viewer, session);
    expect(await topicsUpToOwnMessage(after)).toEqual([home.filter(device, 'x')]);
    after.vanish();
  });

  it.each([
    ['its location', () => `care-homes/${home.locationId}/#`],
    ['its location in upper case', () => `care-homes/${home.locationId.toUpperCase()}/#`],
    ['every level of its location', () => `care-homes/${home.locationId}/+/+/+`],
    ['one device', () => home.filter(device)],
    ["the gateway's status", () => 'gateway/status'],
  ])('may subscribe to %s', async (_what, filter) => {
    const nurse = await RawClient.connect(home.gateway, home.viewer);
    expect(await nurse.subscribe([filter()])).toEqual([1]);
    nurse.vanish();
  });

  it.each(['#', '+/#', 'care-homes/#', 'care-homes/+/devices/+/alarms/#', 'devices/#', '$SYS/#'])(
    'fault 13: may subscribe to %s, and gets nothing but its own through it',
    async (filter) => {
      const nurse = await RawClient.connect(home.gateway, home.viewer);
      expect(await nurse.subscribe([filter, home.filter(device, 'x')])).toEqual([1, 1]);
      expect(await topicsUpToOwnMessage(nurse)).toEqual([home.filter(device, 'x')]);
      nurse.vanish();
    },
  );
});

describe('an access token of every location', () => {
  const admin: () => TestToken = () => ({ id: 'admin', token: ADMIN_TOKEN });

  it('may subscribe to all locations', async () => {
    const nurse = await RawClient.connect(home.gateway, admin());
    expect(await nurse.subscribe(['care-homes/#', 'care-homes/+/devices/#'])).toEqual([1, 1]);
    const topics = await topicsUpToOwnMessage(nurse);
    expect(topics).toContain(`care-homes/${elsewhere}/devices/${stranger.id}/alarms/fall`);
    nurse.vanish();
  });
});

describe('a device', () => {
  it('may subscribe to its commands and invalid publishes only', async () => {
    const client = await RawClient.connect(home.gateway, device);
    const own = `devices/${device.id}`;
    const granted = [`${own}/commands/#`, `${own}/commands/+`, `${own}/rejected`];
    const refused = [
      `${own}/#`,
      `${own}/+`,
      `${own}/alarms`,
      'devices/+/commands/#',
      '#',
      '$SYS/#',
      `devices/${stranger.id}/commands/#`,
      `care-homes/${home.locationId}/#`,
      'gateway/status',
    ];
    expect(await client.subscribe([...granted, ...refused])).toEqual([
      ...granted.map(() => 1),
      ...refused.map(() => DENIED),
    ]);
    await client.ping();
    client.vanish();
  });
});

describe('a subscription', () => {
  it.each([
    [0, 0],
    [1, 1],
    [2, 1],
  ] as const)('requested at QoS %i is granted at QoS %i', async (qos, granted) => {
    const nurse = await RawClient.connect(home.gateway, home.viewer);
    expect(await nurse.subscribe([home.filter(device, 'x')], qos)).toEqual([granted]);
    const sensor = await RawClient.connect(home.gateway, device);
    await sensor.publish(`devices/${device.id}/x`, '1', 2);
    expect((await nurse.next('publish')).qos).toBe(granted);
    sensor.vanish();
    nurse.vanish();
  });

  it.each([true, false])('ends with UNSUBSCRIBE (clean session: %s)', async (clean) => {
    const clientId = `unsubscribes-${clean}`;
    const nurse = await RawClient.connect(home.gateway, home.viewer, { clientId, clean });
    await nurse.subscribe([home.filter(device, 'a'), home.filter(device, 'x')]);
    nurse.send({ cmd: 'unsubscribe', messageId: 2, unsubscriptions: [home.filter(device, 'a')] });
    await nurse.next('unsuback');
    const sensor = await RawClient.connect(home.gateway, device);
    await sensor.publish(`devices/${device.id}/a`, '1', 1);
    sensor.vanish();
    expect(await topicsUpToOwnMessage(nurse)).toEqual([home.filter(device, 'x')]);
    nurse.vanish();
  });

  it.each([
    [true, 1, 1],
    [true, 1, 0],
    [true, 0, 1],
    [false, 1, 1],
    [false, 1, 0],
  ] as const)(
    'holds when it immediately follows an UNSUBSCRIBE of the same filter (clean session: %s, QoS %i, then %i)',
    async (clean, before, after) => {
      const clientId = `again-${clean}-${before}-${after}`;
      const nurse = await RawClient.connect(home.gateway, home.viewer, { clientId, clean });
      const filter = home.filter(device, 'x');
      await nurse.subscribe([filter], before);
      const again = { topic: filter, qos: after };
      nurse.send(
        { cmd: 'unsubscribe', messageId: 2, unsubscriptions: [filter] },
        { cmd: 'subscribe', messageId: 3, subscriptions: [again] },
      );
      await nurse.next('unsuback');
      expect((await nurse.next('suback')).granted).toEqual([after]);
      expect(await topicsUpToOwnMessage(nurse)).toEqual([filter]);
      nurse.vanish();
    },
  );

  it('that overlaps another delivers each message once, at the higher QoS', async () => {
    const nurse = await RawClient.connect(home.gateway, home.viewer);
    await nurse.subscribe([home.filter(device, 'x')], 0);
    await nurse.subscribe([home.filter(device, '+')], 1);
    await nurse.subscribe([home.filter(device, '#')], 0);
    const sensor = await RawClient.connect(home.gateway, device);
    for (const value of ['1', '2']) await sensor.publish(`devices/${device.id}/x`, value, 1);
    const came = () =>
      nurse.packets.flatMap((packet) =>
        packet.cmd === 'publish' && packet.topic.endsWith('/x')
          ? [`${packet.qos} ${/"data":\d/.exec(packet.payload.toString())?.[0]}`]
          : [],
      );
    await nurse.until(() => came().some((text) => text.endsWith('2')), 'the second did not come');
    expect(came()).toEqual(['1 "data":1', '1 "data":2']);
    sensor.vanish();
    nurse.vanish();
  });
});

describe('a SUBSCRIBE in the same write as CONNECT', () => {
  it.each([true, false])('is granted and stored (clean session: %s)', async (clean) => {
    const options = { ...credentials(home.viewer), clientId: `at-once-${clean}`, clean };
    const nurse = await RawClient.open(home.gateway);
    const subscriptions = [{ topic: home.filter(device, 'x'), qos: 1 as const }];
    nurse.send(connectPacket(options), { cmd: 'subscribe', messageId: 1, subscriptions });
    expect((await nurse.next('suback')).granted).toEqual([1]);
    const sensor = await RawClient.connect(home.gateway, device);
    sensor.send({ ...publishPacket(`devices/${device.id}/x`, '1'), qos: 1, messageId: 1 });
    expect((await nurse.next('publish')).topic).toBe(home.filter(device, 'x'));
    for (const client of [nurse, sensor]) client.vanish();
  });
});
