/**
 * Moves of devices and rooms: who may move what (contract 2), and what follows on MQTT: the next alarm names the new
 * place, the status comes along, and everything else that is retained stays behind.
 */

import { expect, type Grant, type Home, NO_LIMITS, test } from '../harness/index.js';

const MISSING = '00000000-0000-4000-8000-000000000000';

/** A device, and two groups with a room each; names stand for ids in the rows of the tests. */
async function furnished(home: Home) {
  const device = await home.device();
  const [G1, G2] = [await home.group('Station 1'), await home.group('Station 2')];
  const [R1, R2] = [await home.room('Zimmer 1', G1), await home.room('Zimmer 2', G2)];
  const ids: Record<string, string> = { D: device.id, G1, G2, R1, R2, L: home.locationId };
  ids['missing'] = MISSING;
  const move = (json: object, token?: string) =>
    home.ask('POST', `./devices/${device.id}/move`, { json, token });
  return { device, ids, G1, G2, R1, R2, move };
}

/** The row with ids instead of names. */
function withIds<T>(row: T, ids: Readonly<Record<string, string>>): T {
  const text = JSON.stringify(row).replaceAll(/"(\w+)"/g, (name, id: string) =>
    ids[id] === undefined ? name : `"${ids[id]}"`,
  );
  return JSON.parse(text);
}

async function placeOf(home: Home, { id }: { readonly id: string }) {
  const { json } = await home.must('GET', `./devices/${id}`);
  const { locationId, roomId } = Object(json);
  return { locationId, roomId };
}

test('a device moves into a room, into another, and out of it', async ({ home }) => {
  const { device, R1, R2, move } = await furnished(home);
  const { locationId } = home;
  for (const roomId of [R1, R1, R2, null, null, R1]) {
    const moved = await move({ targetRoomId: roomId?.toUpperCase() ?? null });
    expect([moved.status, moved.text]).toEqual([204, '']);
    expect(await placeOf(home, device)).toEqual({ locationId, roomId });
    const rooms = (await home.must('GET', './rooms')).json;
    expect(rooms).toMatchObject(
      [R1, R2].map((id) => ({ id, devices: id === roomId ? [device.id] : [] })),
    );
  }
  await move({ targetLocationId: locationId });
  expect(await placeOf(home, device)).toEqual({ locationId, roomId: R1 });
});

test('a device moves to another location, leaves its room, and is only there', async ({
  home,
  own,
}) => {
  const to = await own.homeAt(home.gateway);
  const { device, R1, move } = await furnished(home);
  await move({ targetRoomId: R1 });
  expect((await move({ targetLocationId: to.locationId.toUpperCase() })).outcome).toBe('204');
  expect(await placeOf(to, device)).toEqual({ locationId: to.locationId, roomId: null });
  expect((await home.must('GET', home.path)).json).toMatchObject({ devices: [] });
  expect((await home.must('GET', `./rooms/${R1}`)).json).toMatchObject({ devices: [] });
  const again = await move({ targetLocationId: to.locationId });
  expect(again.outcome).toBe('404 device-not-found');
  expect((await home.ask('DELETE', home.path)).outcome).toBe('204');
  expect((await to.ask('DELETE', to.path)).outcome).toBe('409 location-has-devices');
});

const NO_TARGETS: readonly [target: object, outcome: string][] = [
  [{ targetLocationId: 'missing' }, '404 location-not-found'],
  [{ targetRoomId: 'missing' }, '404 room-not-found'],
  [{ targetRoomId: 'elsewhere' }, '404 room-not-found'],
  [{ targetRoomId: 'nowhere' }, '400 invalid-request'],
  [{ targetLocationId: null }, '400 invalid-request'],
  [{ targetRoomId: 'R1', targetLocationId: 'L' }, '400 invalid-request'],
  [{ targetRoomId: null, targetLocationId: 'L' }, '400 invalid-request'],
  [{ targetGroupId: 'G1' }, '400 invalid-request'],
  [{}, '400 invalid-request'],
];

test('a device does not move to what is no target', async ({ home, own }) => {
  const elsewhere = await (await own.homeAt(home.gateway)).room();
  const { device, ids, R1, move } = await furnished(home);
  await move({ targetRoomId: R1 });
  for (const [target, expected] of NO_TARGETS) {
    const { outcome } = await move(withIds(target, { ...ids, elsewhere }));
    expect([target, outcome]).toEqual([target, expected]);
    expect(await placeOf(home, device)).toMatchObject({ roomId: R1 });
  }
});

const manager = (location: string): Grant => ({ location, role: 'manager' });
const viewer = (location: string): Grant => ({ location, role: 'viewer' });
const group = (id: string, location = 'L'): Grant => ({ location, group: id, role: 'manager' });
const [forbidden, noDevice, noRoom] = [
  '403 forbidden',
  '404 device-not-found',
  '404 room-not-found',
];
const [noLocation, noGroup] = ['404 location-not-found', '404 group-not-found'];

/** Whoever may not move there learns nothing of what exists: permission comes before existence. */
interface Attempt {
  readonly grants: readonly Grant[];
  /** The path below `/care-homes/`. */
  readonly path: string;
  readonly target: object;
  readonly expected: string;
  /** Where the device is before: a room, or none. */
  readonly from?: string | null;
}

const BOTH = [manager('L'), manager('T')];
const OF_GROUPS = [group('G1'), group('G2')];
const TO_T = { targetLocationId: 'T' };
const device = (
  grants: readonly Grant[],
  target: object,
  expected: string,
  path = 'L/devices/D',
): Attempt => ({ grants, path: `${path}/move`, target, expected, from: 'R1' });
const room = (
  grants: readonly Grant[],
  expected: string,
  path = 'L/groups/G1/rooms/R1',
  target = 'G2',
): Attempt => ({ grants, path: `${path}/move`, target: { targetGroupId: target }, expected });
const between = (
  from: string | null,
  grants: readonly Grant[],
  targetRoomId: string | null,
  expected: string,
): Attempt => ({ ...device(grants, { targetRoomId }, expected), from });

const ATTEMPTS: readonly Attempt[] = [
  // To a location: the manager of both.
  ...[
    [manager('L')],
    [manager('T')],
    [manager('L'), viewer('T')],
    [viewer('L'), manager('T')],
    [group('G1'), manager('T')],
    [manager('L'), group('missing', 'T')],
  ].flatMap((grants) => [
    device(grants, TO_T, forbidden),
    device(grants, { targetLocationId: 'missing' }, forbidden),
    device(grants, TO_T, forbidden, 'L/devices/missing'),
  ]),
  device([manager('missing')], TO_T, forbidden, 'missing/devices/D'),
  device(BOTH, TO_T, noDevice, 'L/devices/missing'),
  device(BOTH, { targetLocationId: 'L' }, noDevice, 'L/devices/missing'),
  device(BOTH, { targetLocationId: 'L' }, noDevice, 'T/devices/D'),
  device([manager('*')], TO_T, noLocation, 'missing/devices/D'),
  device([manager('*')], { targetRoomId: 'R2' }, noLocation, 'missing/devices/D'),
  device(BOTH, TO_T, '204'),
  // To a room: the manager of the room that it leaves and the one that it enters.
  between('R1', [group('G1')], 'R2', forbidden),
  between('R1', [group('G2')], 'R2', forbidden),
  between('R1', OF_GROUPS, 'R0', forbidden),
  between('R1', [group('G1')], 'missing', forbidden),
  between(null, OF_GROUPS, 'R1', forbidden),
  between('R0', OF_GROUPS, 'R1', forbidden),
  device([group('G1')], { targetRoomId: 'R2' }, forbidden, 'L/devices/missing'),
  device([manager('L')], { targetRoomId: 'missing' }, noDevice, 'L/devices/missing'),
  device([manager('L')], { targetRoomId: null }, noDevice, 'L/devices/missing'),
  between('R1', OF_GROUPS, 'R2', '204'),
  between('R1', [group('G1')], 'R1', '204'),
  between('R1', [group('G1')], null, '204'),
  between('R0', [manager('L')], 'R1', '204'),
  // A room to a group: the manager of both groups.
  ...[
    [group('G1')],
    [group('G2')],
    [group('G1'), { ...group('G2'), role: 'viewer' }],
    [viewer('L')],
  ].flatMap((grants) => [
    room(grants, forbidden),
    room(grants, forbidden, 'L/groups/G1/rooms/R1', 'missing'),
    room(grants, forbidden, 'L/groups/G1/rooms/missing'),
    room(grants, forbidden, 'L/groups/G1/rooms/R2'),
  ]),
  room([group('missing')], forbidden, 'L/groups/missing/rooms/R1'),
  room([group('G1', 'missing')], forbidden, 'missing/groups/G1/rooms/R1'),
  room(OF_GROUPS, noRoom, 'L/groups/G1/rooms/missing'),
  room(OF_GROUPS, noRoom, 'L/groups/G1/rooms/R2'),
  room([manager('*')], noGroup, 'L/groups/missing/rooms/R1'),
  room([manager('*')], noGroup, 'L/groups/G1/rooms/R1', 'missing'),
  room([manager('*')], noGroup, 'L/groups/G1/rooms/R1', 'GT'),
  room([manager('*')], noLocation, 'missing/groups/G1/rooms/R1'),
  room(OF_GROUPS, '204'),
];

test('moves are for the managers of every place involved', async ({ home, own }) => {
  const to = await own.homeAt(home.gateway);
  const { device, ids, R1, G1, move } = await furnished(home);
  const more = { T: to.locationId, GT: await to.group(), R0: await home.room('Zimmer 0') };
  for (const attempt of ATTEMPTS) {
    const row = withIds(attempt, { ...ids, ...more });
    if (row.from !== undefined) await move({ targetRoomId: row.from });
    const { token } = await home.token(row.grants);
    const path = row.path.split('/').map((level) => ({ ...ids, ...more })[level] ?? level);
    const { outcome } = await home.ask('POST', `/care-homes/${path.join('/')}`, {
      json: row.target,
      token,
    });
    expect({ ...attempt, expected: outcome }).toEqual(attempt);
    // Where it was, unless it was moved.
    if (outcome === '204') {
      await to.ask('POST', `./devices/${device.id}/move`, {
        json: { targetLocationId: home.locationId },
      });
      await home.must('PATCH', `./rooms/${R1}`, { json: { groupId: G1 } });
    } else if (row.from !== undefined) {
      expect(await placeOf(home, device)).toMatchObject({ roomId: row.from });
    }
  }
});

test('a room moves to another group with its devices', async ({ home }) => {
  const { device, G1, G2, R1, R2, move } = await furnished(home);
  await move({ targetRoomId: R1 });
  const moveRoom = (from: string, targetGroupId: string) =>
    home.ask('POST', `./groups/${from}/rooms/${R1}/move`, { json: { targetGroupId } });
  expect((await moveRoom(G1, G2.toUpperCase())).outcome).toBe('204');
  expect((await moveRoom(G1, G2)).outcome).toBe('404 room-not-found');
  expect((await moveRoom(G2, G2)).outcome).toBe('204');
  expect((await moveRoom(G2, 'x')).outcome).toBe('400 invalid-request');
  expect((await home.must('GET', './groups')).json).toMatchObject([
    { id: G1, rooms: [] },
    { id: G2, rooms: [R1, R2] },
  ]);
  const shown = { id: R1, groupId: G2, devices: [device.id] };
  expect((await home.must('GET', `./rooms/${R1}`)).json).toMatchObject(shown);
  expect((await home.ask('DELETE', `./groups/${G1}`)).outcome).toBe('204');
});

test('the next alarm after a move names the new place', async ({ home, own }) => {
  const to = await own.homeAt(home.gateway, 'Ahorn');
  const { device, G1, G2, R1, move } = await furnished(home);
  const sensor = await home.sensor({ device });
  const [inOld, inNew] = [await home.nurse(), await to.nurse()];
  await sensor.raise(1, { kind: 'fall' });
  await move({ targetRoomId: R1 });
  await sensor.raise(1, { kind: 'noise' });
  await home.must('POST', `./groups/${G1}/rooms/${R1}/move`, { json: { targetGroupId: G2 } });
  await sensor.raise(1, { kind: 'helpCall' });
  await move({ targetLocationId: to.locationId });
  await sensor.client.publish(`${sensor.topic}/alarms`, '{"kind":"outOfBed"}');

  await inOld.untilRecords(3);
  await inNew.untilRecords(1);
  const location = { id: home.locationId, name: home.name };
  const place = { location, room: { id: R1, name: 'Zimmer 1' } };
  expect(inOld.records.map(({ text }) => JSON.parse(text))).toMatchObject([
    { kind: 'fall', location, room: null, group: null },
    { kind: 'noise', ...place, group: { id: G1, name: 'Station 1' } },
    { kind: 'helpCall', ...place, group: { id: G2, name: 'Station 2' } },
  ]);
  const topic = to.filter(device, 'alarms/outOfBed');
  const arrived = { location: { id: to.locationId, name: 'Ahorn' }, room: null, group: null };
  expect(inNew.records.map((one) => ({ ...one, json: JSON.parse(one.text) }))).toMatchObject([
    { topic, json: arrived },
  ]);
  // An alarm belongs to the location in which it happened.
  const kindsIn = async (path: string) =>
    (await home.must('GET', path)).list('events').map(({ kind }) => kind);
  expect(await kindsIn('./alarms')).toEqual(['helpCall', 'noise', 'fall']);
  expect(await kindsIn(`${to.path}/alarms`)).toEqual(['outOfBed']);
  expect(await kindsIn(`${to.path}/devices/${device.id}/alarms`)).toEqual(['outOfBed']);
});

test('the retained status moves with the device; all else retained is gone', async ({
  home,
  own,
}) => {
  const to = await own.homeAt(home.gateway);
  const { device, move } = await furnished(home);
  const bystander = await home.device('Bett 2');
  await (await home.client(bystander)).end();
  const never = await home.device('Bett 3');
  await home.move(never, { targetLocationId: to.locationId });
  const sensor = await home.sensor({ device });
  await sensor.publish('temperature', '21.5', { retain: true });
  const topicsIn = async (one: Home) => [...(await one.retained()).keys()].sort();
  const status = (one: Home, of: { readonly id: string }) => one.filter(of, 'status');
  const statusIn = async (one: Home) => Object((await one.retained()).get(status(one, device)));
  await expect.poll(() => topicsIn(home)).toHaveLength(3);

  const { since } = await statusIn(home);
  await move({ targetLocationId: to.locationId });
  await expect.poll(() => topicsIn(home)).toEqual([status(home, bystander)]);
  await expect.poll(() => topicsIn(to)).toEqual([status(to, device)]);
  const location = { id: to.locationId, name: to.name };
  expect(await statusIn(to)).toMatchObject({ online: true, since, location });

  await sensor.end();
  await expect.poll(() => statusIn(to)).toMatchObject({ online: false });
  const left = await statusIn(to);
  await to.move(device, { targetLocationId: home.locationId });
  await expect.poll(() => topicsIn(to)).toEqual([]);
  await expect.poll(() => statusIn(home)).toMatchObject({ online: false, since: left.since });
});

/** Enough that the gateway is still forgetting them when it answers the change. */
const RESTS = Array.from({ length: 300 }, (_, index) => `values/${index}`);

/** What a device finds retained when it subscribes to its commands. */
async function commandsFor(home: Home, device: Parameters<Home['client']>[0] & { id: string }) {
  const client = await home.client(device);
  await client.subscribe(`devices/${device.id}/commands/#`, { qos: 0 });
  await client.ping();
  await client.end();
  return client.topics.map((topic) => topic.split('/').slice(3).join('/')).sort();
}

/** Publishes retained commands to the device. */
async function command(home: Home, { id }: { readonly id: string }, rests: readonly string[]) {
  const nurse = await home.client(home.manager);
  const topic = home.filter({ id }, 'commands');
  await Promise.all(
    rests.map((rest) => nurse.publish(`${topic}/${rest}`, '"on"', { retain: true })),
  );
  await nurse.end();
}

test('retained messages are kept of a device that was moved away and back', async ({
  home,
  own,
}) => {
  const to = await own.homeAt(home.gateway);
  const sensor = await home.sensor();
  const retainAll = () =>
    Promise.all(RESTS.map((rest) => sensor.publish(rest, '1', { retain: true })));
  await retainAll();
  await home.move(sensor.device, { targetLocationId: to.locationId });
  await to.move(sensor.device, { targetLocationId: home.locationId });
  await retainAll();
  const expected = ['status', ...RESTS].map((rest) => home.filter(sensor.device, rest)).sort();
  await expect.poll(async () => [...(await home.retained()).keys()].sort()).toEqual(expected);
  expect([...(await to.retained()).keys()]).toEqual([]);
});

test('retained commands of before a move are gone, those of after it stay', async ({
  home,
  own,
}) => {
  const to = await own.homeAt(home.gateway);
  const device = await home.device();
  await command(home, device, [...RESTS, 'old']);
  await home.move(device, { targetLocationId: to.locationId });
  await command(to, device, RESTS);
  await expect.poll(() => commandsFor(to, device)).toEqual([...RESTS].sort());
});

test('a new device with the id of a deleted one inherits nothing', async ({ home }) => {
  const device = await home.device();
  const sensor = await home.client(device);
  const topic = `devices/${device.id}`;
  await Promise.all(RESTS.map((rest) => sensor.publish(`${topic}/${rest}`, '1', { retain: true })));
  await command(home, device, ['unlock']);
  await home.must('DELETE', `./devices/${device.id}`);
  const json = { name: 'new', id: device.id };
  const { secret } = Object((await home.must('POST', './devices', { json })).json);
  const successor = await home.client({ ...device, secret });
  const status = home.filter(device, 'status');
  await expect.poll(async () => [...(await home.retained()).keys()]).toEqual([status]);
  await successor.end();
  expect(await commandsFor(home, { ...device, secret })).toEqual([]);
});

test('a grant on a group finds what was retained in that group', async ({ home }) => {
  const { device, G1, G2, R1, move } = await furnished(home);
  const sensor = await home.sensor({ device });
  await move({ targetRoomId: R1 });
  await sensor.publish('temperature', '21', { retain: true });
  await home.must('POST', `./groups/${G1}/rooms/${R1}/move`, { json: { targetGroupId: G2 } });
  const found = async (id: string) => {
    const token = await home.token([{ role: 'viewer', group: id }]);
    const topics = [...(await home.retained(home.filter(), token)).keys()];
    return topics.map((topic) => topic.split('/').at(-1)).sort();
  };
  // The status is published again, in the present group.
  await expect.poll(() => found(G1)).toEqual(['temperature']);
  await expect.poll(() => found(G2)).toEqual(['status']);
  await move({ targetRoomId: await home.room('Zimmer 3', G1) });
  await expect.poll(() => found(G1)).toEqual(['status', 'temperature']);
  expect(await found(G2)).toEqual([]);
});

test('a killed gateway forgets at its start what moved and deleted devices left', {
  timeout: 60_000,
}, async ({ own }) => {
  const gateway = await own.gateway({ kind: 'process', env: NO_LIMITS });
  const [home, to] = [await own.homeAt(gateway), await own.homeAt(gateway)];
  const devices = [await home.device('moved'), await home.device('deleted'), await home.device()];
  const [moved, deleted, bystander] = devices;
  if (moved === undefined || deleted === undefined || bystander === undefined) return;
  for (const device of devices) {
    const sensor = await home.client(device);
    const topic = `devices/${device.id}`;
    await Promise.all(
      RESTS.map((rest) => sensor.publish(`${topic}/${rest}`, '1', { retain: true })),
    );
    await command(home, device, ['unlock']);
  }
  await Promise.all([
    home.move(moved, { targetLocationId: to.locationId }),
    home.must('DELETE', `./devices/${deleted.id}`),
  ]);
  await gateway.kill();
  await gateway.start();
  const kept = ['status', ...RESTS].map((rest) => home.filter(bystander, rest)).sort();
  const topicsIn = async (one: Home) => [...(await one.retained()).keys()].sort();
  await expect.poll(() => topicsIn(home)).toEqual(kept);
  await expect.poll(() => topicsIn(to)).toEqual([to.filter(moved, 'status')]);
  expect([await commandsFor(to, moved), await commandsFor(home, bystander)]).toEqual([
    [],
    ['unlock'],
  ]);
});
