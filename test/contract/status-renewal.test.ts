import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import type { TestDevice } from '../former/clients/api.js';
import { connectDevice, Subscriber } from '../former/clients/mqtt-clients.js';
import { eventually } from '../former/eventually.js';
import type { GatewayProcess } from '../former/gateway/gateway-process.js';
import { Home } from '../former/home.js';
import { Store } from '../former/stored/store.js';
import { rewriteRecord } from '../former/stored/stored-records.js';

let home: Home<GatewayProcess>;

beforeAll(async () => {
  home = await Home.startProcess();
});

afterAll(() => home.remove());

const idBody = z.looseObject({ id: z.string() });

async function create(collection: string, body: object): Promise<string> {
  const path = `/care-homes/${home.locationId}/${collection}`;
  return idBody.parse(await home.api.json('POST', path, body)).id;
}

/** A device in a room of a group, with an offline status. */
async function placedDevice() {
  const [groupId, otherGroupId] = [
    await create('groups', { name: 'Nord' }),
    await create('groups', { name: 'Ost' }),
  ];
  const roomId = await create('rooms', { name: 'Zimmer 1', groupId });
  const otherRoomId = await create('rooms', { name: 'Zimmer 2', groupId });
  const device = await home.device();
  const item = `/care-homes/${home.locationId}/devices/${device.id}`;
  await home.api.json('POST', `${item}/move`, { targetRoomId: roomId });
  const nurse = await home.nurse(device, 'status');
  await (await connectDevice(home.gateway, device)).endAsync();
  await nurse.until((all) => all.at(-1)?.text.includes('"online":false') === true);
  await nurse.end();
  return { device, item, groupId, otherGroupId, roomId, otherRoomId };
}

const GONE = { online: false };

/** The status retained for a new subscriber. */
async function retainedStatus(device: TestDevice, locationId = home.locationId): Promise<unknown> {
  const nurse = await Subscriber.connect(home.gateway, await home.api.viewer(locationId));
  await nurse.subscribe(`care-homes/${locationId}/devices/${device.id}/status`, 'gateway/status');
  await nurse.until((received) => received.some(({ topic }) => topic === 'gateway/status'));
  await nurse.end();
  // A live one may come before it.
  return nurse.messages('/devices/').at(-1);
}

type Placed = Awaited<ReturnType<typeof placedDevice>>;

const root = () => `/care-homes/${home.locationId}`;
const changes: Record<string, [(placed: Placed) => Promise<unknown>, object]> = {
  'its custom data': [
    ({ device }) => home.api.setCustomData(device, '{"bed":"B"}'),
    { customData: { bed: 'B' } },
  ],
  'its name': [
    ({ item }) => home.api.json('PATCH', item, { name: 'Bett 9' }),
    { device: { name: 'Bett 9' } },
  ],
  'the name of its room': [
    ({ roomId }) => home.api.json('PATCH', `${root()}/rooms/${roomId}`, { name: 'Bad' }),
    { room: { name: 'Bad' } },
  ],
  'the name of its group': [
    ({ groupId }) => home.api.json('PATCH', `${root()}/groups/${groupId}`, { name: 'West' }),
    { group: { name: 'West' } },
  ],
  'the name of its location': [
    () => home.api.json('PATCH', root(), { name: 'Haus am Fluss' }),
    { location: { name: 'Haus am Fluss' } },
  ],
  'its room, by a move': [
    ({ item, otherRoomId }) => home.api.json('POST', `${item}/move`, { targetRoomId: otherRoomId }),
    { room: { name: 'Zimmer 2' }, group: { name: 'Nord' } },
  ],
  'its room, by a move out of it': [
    ({ item }) => home.api.json('POST', `${item}/move`, { targetRoomId: null }),
    { room: null, group: null },
  ],
  "its room's group": [
    ({ roomId, groupId, otherGroupId }) =>
      home.api.json('POST', `${root()}/groups/${groupId}/rooms/${roomId}/move`, {
        targetGroupId: otherGroupId,
      }),
    { group: { name: 'Ost' } },
  ],
};

it.each(Object.keys(changes))(
  'publishes the status of a device again when %s has changed',
  async (name) => {
    const placed = await placedDevice();
    const nurse = await home.nurse(placed.device, 'status');
    await nurse.untilCount(1);
    const [change, shown] = changes[name] ?? [async () => undefined, {}];
    await change(placed);
    await nurse.untilCount(2);
    expect(nurse.messages()[1]).toMatchObject({ ...GONE, ...shown });
    expect(nurse.messages()[1]?.['since']).toBe(nurse.messages()[0]?.['since']);
    expect(nurse.received[1]).toMatchObject({ qos: 1, retain: false });
    expect(await retainedStatus(placed.device)).toEqual(nurse.messages()[1]);
    await nurse.end();
  },
);

it('publishes the status of a device that is online as online', async () => {
  const device = await home.device();
  const sensor = await connectDevice(home.gateway, device);
  const nurse = await home.nurse(device, 'status');
  await nurse.untilCount(1);
  await home.api.setCustomData(device, '{"n":1}');
  // The retained message may also arrive live, at a nurse that subscribes just then.
  await nurse.until((all) => all.some(({ text }) => text.includes('"customData":{"n":1}')));
  expect(nurse.messages().every(({ online }) => online === true)).toBe(true);
  await nurse.end();
  await sensor.endAsync();
});

it('gives no status to a device that never connected', async () => {
  const [silent, heard] = [await home.device('silent'), await home.device('heard')];
  await (await connectDevice(home.gateway, heard)).endAsync();
  const nurse = await Subscriber.connect(home.gateway, home.viewer);
  await nurse.subscribe(`care-homes/${home.locationId}/devices/+/status`);
  await home.api.json('PATCH', root(), { name: 'Haus ohne Namen' });
  await nurse.until((received) =>
    received.some(({ topic, text }) => topic.includes(heard.id) && text.includes('ohne Namen')),
  );
  expect(nurse.messages(silent.id)).toEqual([]);
  expect(await retainedStatus(silent)).toBeUndefined();
  await nurse.end();
});

it('ends with the latest state when a device changes repeatedly', async () => {
  const { device } = await placedDevice();
  const numbers = Array.from({ length: 20 }, (_, index) => index);
  await Promise.all(numbers.map((n) => home.api.setCustomData(device, `{"n":${n}}`)));
  await home.api.setCustomData(device, '{"n":"last"}');
  await eventually(async () => {
    expect(await retainedStatus(device)).toMatchObject({ customData: { n: 'last' } });
  });
});

it('publishes the status once the store answers, after the answer to the change was lost', async () => {
  const { device, item } = await placedDevice();
  const store = await Store.of(home.gateway);
  store.freeze();
  const { status } = await home.api.request('PATCH', item, '{"name":"Bett im Nebel"}');
  expect(status).toBe(503);
  store.thaw();
  store.close();
  await eventually(async () => {
    expect(await retainedStatus(device)).toMatchObject({ device: { name: 'Bett im Nebel' } });
  });
});

it('publishes a status at start when the gateway was killed between a change and its status', async () => {
  const { device } = await placedDevice();
  await home.gateway.kill();
  const store = await Store.of(home.gateway);
  await rewriteRecord(store.redis, 'device', device.id, { name: 'Bett am Fenster' });
  store.close();
  await home.gateway.start();
  await eventually(async () => {
    expect(await retainedStatus(device)).toMatchObject({ device: { name: 'Bett am Fenster' } });
  });
});
