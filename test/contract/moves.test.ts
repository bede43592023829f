import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { Api, type TestDevice } from '../former/clients/api.js';
import { connect, connectDevice, Subscriber } from '../former/clients/mqtt-clients.js';
import { GatewayHere } from '../former/gateway/gateway-here.js';
import { ADMIN_TOKEN } from '../former/gateway/running-gateway.js';
import { Store } from '../former/stored/store.js';

let gateway: GatewayHere;
let api: Api;

beforeAll(async () => {
  gateway = await GatewayHere.start();
  api = new Api(gateway);
});

afterAll(() => gateway.remove());

const idBody = z.looseObject({ id: z.string() });
const eventsBody = z.looseObject({ events: z.array(z.looseObject({ kind: z.string() })) });

async function create(path: string, body: object): Promise<string> {
  return idBody.parse(await api.json('POST', path, body)).id;
}

/** Two homes, the first with a connected device in a room of a group. */
async function world() {
  const [from, to] = [await api.createLocation('Birke'), await api.createLocation('Ahorn')];
  const groupId = await create(`/care-homes/${from.id}/groups`, { name: 'Station 1' });
  const roomId = await create(`/care-homes/${from.id}/rooms`, { name: 'Zimmer 1', groupId });
  const device = await api.createDevice(from.id, 'Bett 1');
  const sensor = await connectDevice(gateway, device);
  const publish = (rest: string, payload: string, retain = false) =>
    sensor.publishAsync(`devices/${device.id}/${rest}`, payload, { qos: 1, retain });
  const move = (locationId: string, target: object) =>
    api.json('POST', `/care-homes/${locationId}/devices/${device.id}/move`, target);
  return { from, to, groupId, roomId, device, sensor, publish, move };
}

async function nurseOf(locationId: string): Promise<Subscriber> {
  const nurse = await Subscriber.connect(gateway, await api.viewer(locationId));
  return nurse.subscribe(`care-homes/${locationId}/#`);
}

async function kindsOf(path: string): Promise<string[]> {
  return eventsBody.parse(await api.json('GET', path)).events.map(({ kind }) => kind);
}

/** The topics of the messages retained for a new subscriber. */
async function retainedIn(locationId: string): Promise<string[]> {
  const marker = await api.createDevice(locationId, 'marker');
  const nurse = await nurseOf(locationId);
  const sensor = await connectDevice(gateway, marker);
  // A live message after the subscription arrives after all retained ones.
  await sensor.publishAsync(`devices/${marker.id}/marker`, '1', { qos: 1 });
  await nurse.until((received) => received.some(({ topic }) => topic.endsWith('/marker')));
  await sensor.endAsync();
  await nurse.end();
  await api.json('DELETE', `/care-homes/${locationId}/devices/${marker.id}`);
  return nurse.received.filter(({ retain }) => retain).map(({ topic }) => topic);
}

it('forwards the next alarm after a move with the new place', async () => {
  const { from, to, groupId, roomId, device, sensor, publish, move } = await world();
  const nurses = [await nurseOf(from.id), await nurseOf(to.id)];
  const [inOld, inNew] = nurses;
  await publish('alarms', '{"kind":"fall"}');
  await move(from.id, { targetRoomId: roomId });
  await publish('alarms', '{"kind":"noise"}');
  const path = `/care-homes/${from.id}/groups`;
  const other = await create(path, { name: 'Station 2' });
  await api.json('POST', `${path}/${groupId}/rooms/${roomId}/move`, { targetGroupId: other });
  await publish('alarms', '{"kind":"helpCall"}');
  await move(from.id, { targetLocationId: to.id });
  await publish('alarms', '{"kind":"outOfBed"}');

  const isAlarm = ({ topic }: { topic: string }) => topic.includes('/alarms/');
  await inOld?.until((received) => received.filter(isAlarm).length === 3);
  await inNew?.until((received) => received.some(isAlarm));
  const birke = { id: from.id, name: 'Birke' };
  const room = { id: roomId, name: 'Zimmer 1' };
  expect(inOld?.messages('/alarms/')).toMatchObject([
    { kind: 'fall', location: birke, room: null, group: null },
    { kind: 'noise', location: birke, room, group: { id: groupId, name: 'Station 1' } },
    { kind: 'helpCall', location: birke, room, group: { id: other, name: 'Station 2' } },
  ]);
  expect(inNew?.messages('/alarms/')).toMatchObject([
    { kind: 'outOfBed', location: { id: to.id, name: 'Ahorn' }, room: null, group: null },
  ]);
  expect(inNew?.received.filter(isAlarm).map(({ topic }) => topic)).toEqual([
    `care-homes/${to.id}/devices/${device.id}/alarms/outOfBed`,
  ]);

  expect(await kindsOf(`/care-homes/${from.id}/alarms`)).toEqual(['helpCall', 'noise', 'fall']);
  expect(await kindsOf(`/care-homes/${to.id}/alarms`)).toEqual(['outOfBed']);
  expect(await kindsOf(`/care-homes/${to.id}/devices/${device.id}/alarms`)).toEqual(['outOfBed']);
  await Promise.all([...nurses.map((nurse) => nurse.end()), sensor.endAsync()]);
});

it('moves the retained status of a moved device, and removes everything else retained', async () => {
  const { from, to, device, sensor, publish, move } = await world();
  const topics = (locationId: string, one: TestDevice) => [
    `care-homes/${locationId}/devices/${one.id}/status`,
  ];
  const bystander = await api.createDevice(from.id, 'Bett 2');
  await (await connectDevice(gateway, bystander)).endAsync();
  await publish('temperature', '21.5', true);
  await expect.poll(() => retainedIn(from.id)).toHaveLength(3);

  const before = await statusIn(from.id, device);
  await move(from.id, { targetLocationId: to.id });
  await expect.poll(() => retainedIn(from.id)).toEqual(topics(from.id, bystander));
  await expect.poll(() => retainedIn(to.id)).toEqual(topics(to.id, device));
  const after = await statusIn(to.id, device);
  expect(after).toMatchObject({ online: true, location: { id: to.id, name: 'Ahorn' } });
  expect(after?.['since']).toBe(before?.['since']);

  await sensor.endAsync();
  await expect.poll(() => statusIn(to.id, device)).toMatchObject({ online: false });
  const left = await statusIn(to.id, device);
  await move(to.id, { targetLocationId: from.id });
  await move(from.id, { targetLocationId: to.id });
  await move(to.id, { targetLocationId: from.id });
  await expect.poll(() => retainedIn(to.id)).toEqual([]);
  const back = await statusIn(from.id, device);
  expect(back).toMatchObject({ online: false, since: left?.['since'] });
  await expect
    .poll(async () => (await retainedIn(from.id)).toSorted())
    .toEqual([...topics(from.id, device), ...topics(from.id, bystander)].toSorted());
});

async function statusIn(locationId: string, device: TestDevice) {
  const nurse = await Subscriber.connect(gateway, await api.viewer(locationId));
  await nurse.subscribe(`care-homes/${locationId}/devices/${device.id}/status`);
  await nurse.untilCount(1);
  await nurse.end();
  return nurse.messages()[0];
}

it.each(['moved', 'deleted'] as const)(
  'keeps no retained command of a device that is %s',
  async (what) => {
    const [from, to] = [await api.createLocation(), await api.createLocation()];
    const device = await api.createDevice(from.id);
    const path = `/care-homes/${from.id}/devices/${device.id}`;
    const manager = await connect(gateway, { username: 'admin', password: ADMIN_TOKEN });
    await manager.publishAsync(`${path.slice(1)}/commands/unlock`, 'now', { qos: 1, retain: true });
    const store = await Store.of(gateway);
    const commands = async () => {
      const topics = await store.redis.hkeys('{site}:broker:retained');
      return topics.filter((topic) => topic.includes(device.id));
    };
    expect(await commands()).toEqual([`devices/${device.id}/commands/unlock`]);
    if (what === 'moved') await api.json('POST', `${path}/move`, { targetLocationId: to.id });
    else expect((await api.request('DELETE', path)).status).toBe(204);
    await expect.poll(commands).toEqual([]);
    store.close();
    await manager.endAsync();
  },
);

it('publishes no status for a moved device that never connected', async () => {
  const [from, to] = [await api.createLocation(), await api.createLocation()];
  const device = await api.createDevice(from.id);
  const path = `/care-homes/${from.id}/devices/${device.id}/move`;
  await api.json('POST', path, { targetLocationId: to.id });
  expect(await retainedIn(to.id)).toEqual([]);
});

it('shows a retained message to holders of a grant on the group in which it was published', async () => {
  const { from, groupId, roomId, publish, move, sensor } = await world();
  await move(from.id, { targetRoomId: roomId });
  await publish('temperature', '21', true);
  const path = `/care-homes/${from.id}/groups`;
  const other = await create(path, { name: 'Station 2' });
  await api.json('POST', `${path}/${groupId}/rooms/${roomId}/move`, { targetGroupId: other });
  const topicsFor = async (group: string) => {
    const token = await api.createToken([{ location: from.id, group, role: 'viewer' }]);
    const nurse = await Subscriber.connect(gateway, token);
    await nurse.subscribe(`care-homes/${from.id}/#`);
    // This one is retained too, and arrives after those of the first subscription.
    await nurse.subscribe('gateway/status');
    await nurse.until((received) => received.some(({ topic }) => topic === 'gateway/status'));
    await nurse.end();
    return nurse.received.map(({ topic }) => topic.split('/').at(-1)).sort();
  };
  // The gateway's status, and the device's, which is published again in its present group.
  await expect.poll(() => topicsFor(groupId)).toEqual(['status', 'temperature']);
  await expect.poll(() => topicsFor(other)).toEqual(['status', 'status']);
  const elsewhere = await create(`/care-homes/${from.id}/rooms`, { name: 'Zimmer 2', groupId });
  await move(from.id, { targetRoomId: elsewhere });
  await expect.poll(() => topicsFor(groupId)).toEqual(['status', 'status', 'temperature']);
  expect(await topicsFor(other)).toEqual(['status']);
  await sensor.endAsync();
});
