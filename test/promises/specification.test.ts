/**
 * The interface that the customer specified, line by line; the names of the tests are its words.
 *
 * What it leaves open is decided in the contract, and held by the other files of this folder.
 */
import { randomUUID } from 'node:crypto';
import { ALARM_KINDS } from '../../src/domain/alarm.js';
import { expect, type Home, test } from '../harness/index.js';

const UUID = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
const LONGEST_NAME = '👵'.repeat(120);

/** A device outside of any room, and a room in a group; with the paths of all. */
async function furnished(home: Home) {
  const { id: deviceId } = await home.device();
  const groupId = await home.group();
  const roomId = await home.room('Zimmer 1', groupId);
  const ids = { deviceId, groupId, roomId };
  const [room, group, device] = [
    `./rooms/${roomId}`,
    `./groups/${groupId}`,
    `./devices/${deviceId}`,
  ];
  return { ...ids, location: home.path, room, group, device };
}

type Furniture = Awaited<ReturnType<typeof furnished>>;

/** Status and body of an answer. */
async function asked(home: Home, method: string, path: string, json?: object, token?: string) {
  const answer = await home.ask(method, path, { json, token });
  return [answer.status, answer.text === '' ? undefined : answer.json];
}

/** The location as the list of locations shows it. */
async function listed(home: Home) {
  const locations = (await home.must('GET', '/care-homes')).list();
  return locations.find(({ id }) => id === home.locationId);
}

const NAMED: readonly {
  readonly what: string;
  readonly asks: (of: Furniture) => readonly [method: string, path: string];
  readonly status: number;
}[] = [
  { what: 'Create location', asks: () => ['POST', '/care-homes'], status: 201 },
  { what: 'Update location', asks: ({ location }) => ['PATCH', location], status: 200 },
  { what: 'Update device', asks: ({ device }) => ['PATCH', device], status: 200 },
  { what: 'Create room', asks: () => ['POST', './rooms'], status: 201 },
  { what: 'Update room', asks: ({ room }) => ['PATCH', room], status: 200 },
  { what: 'Create group', asks: () => ['POST', './groups'], status: 201 },
  { what: 'Update group', asks: ({ group }) => ['PATCH', group], status: 200 },
];

test.for(NAMED)('$what: name of 1 to 120 characters, trimmed', async (row, { home }) => {
  const [method, path] = row.asks(await furnished(home));
  for (const name of ['', '   ', 'x'.repeat(121), `${LONGEST_NAME}x`, 7, null]) {
    expect([name, (await home.ask(method, path, { json: { name } })).outcome]).toEqual([
      name,
      '400 invalid-request',
    ]);
  }
  for (const name of [LONGEST_NAME, 'x']) {
    const expected = [row.status, expect.objectContaining({ name })];
    expect(await asked(home, method, path, { name: `\t ${name} \n` })).toEqual(expected);
  }
  if (row.status === 201) expect((await home.ask(method, path, { json: {} })).status).toBe(400);
});

test('List, create, update and delete locations', async ({ home }) => {
  expect(await listed(home)).toEqual({ id: home.locationId, name: home.name, devices: [] });
  const { deviceId, device } = await furnished(home);
  const shown = { id: home.locationId, name: home.name, devices: [deviceId] };
  expect(await listed(home)).toEqual(shown);
  const renamed = { ...shown, name: 'Haus Linde' };
  expect(await asked(home, 'PATCH', home.path, { name: 'Haus Linde' })).toEqual([200, renamed]);
  expect(await listed(home)).toEqual(renamed);
  // 409 when devices are still assigned.
  expect((await asked(home, 'DELETE', home.path))[0]).toBe(409);
  await home.must('DELETE', device);
  expect(await asked(home, 'DELETE', home.path)).toEqual([204, undefined]);
  expect(await listed(home)).toBeUndefined();

  const created = await home.must('POST', '/care-homes', { json: { name: 'Haus Ahorn' } });
  const expected = { id: expect.any(String), name: 'Haus Ahorn', devices: [] };
  expect([created.status, created.json]).toEqual([201, expected]);
});

test('Get and update a device', async ({ home }) => {
  const { device, deviceId } = await furnished(home);
  const shown = expect.objectContaining({ id: UUID, name: 'Bett 1' });
  expect(await asked(home, 'GET', device)).toEqual([200, shown]);
  const renamed = expect.objectContaining({ id: deviceId, name: 'Bett 2' });
  expect(await asked(home, 'PATCH', device, { name: 'Bett 2' })).toEqual([200, renamed]);
  expect(await asked(home, 'GET', device)).toEqual([200, renamed]);
});

test('Move a device to a location: 204', async ({ home, own, gateway }) => {
  const to = await own.homeAt(gateway);
  const { device, deviceId } = await furnished(home);
  // It is changed only through the move operations.
  const json = { name: 'x', locationId: to.locationId };
  expect((await home.ask('PATCH', device, { json })).status).toBe(400);
  const target = { targetLocationId: to.locationId };
  expect(await asked(home, 'POST', `${device}/move`, target)).toEqual([204, undefined]);
  expect([await listed(home), await listed(to)]).toMatchObject([
    { devices: [] },
    { devices: [deviceId] },
  ]);
});

test('Move a device to a room: 204', async ({ home }) => {
  const { device, deviceId, room, roomId } = await furnished(home);
  expect((await home.ask('PATCH', device, { json: { name: 'x', roomId } })).status).toBe(400);
  const target = { targetRoomId: roomId };
  expect(await asked(home, 'POST', `${device}/move`, target)).toEqual([204, undefined]);
  expect((await home.must('GET', room)).json).toMatchObject({ devices: [deviceId] });
});

test('Moves: 403 when permissions are lacking for one of the involved places', async ({
  home,
  own,
  gateway,
}) => {
  const to = await own.homeAt(gateway);
  const { device, groupId, roomId } = await furnished(home);
  const otherId = await home.group('Station 2');
  const ofGroup = (group: string) => home.token([{ role: 'manager', group }]);
  const both = await home.token([
    { role: 'manager' },
    { role: 'manager', location: to.locationId },
  ]);
  const roomMove = `./groups/${groupId}/rooms/${roomId}/move`;
  const rows = [
    [`${device}/move`, { targetRoomId: roomId }, [to.manager], home.manager],
    [`${device}/move`, { targetLocationId: to.locationId }, [home.manager, to.manager], both],
    [
      roomMove,
      { targetGroupId: otherId },
      [await ofGroup(groupId), await ofGroup(otherId)],
      home.manager,
    ],
  ] as const;
  for (const [path, target, lacking, permitted] of rows) {
    for (const { token } of lacking) {
      expect((await asked(home, 'POST', path, target, token))[0]).toBe(403);
    }
    const moved = await asked(home, 'POST', path, target, permitted.token);
    expect([path, ...moved]).toEqual([path, 204, undefined]);
  }
});

test('List, create, update and delete rooms', async ({ home }) => {
  expect(await asked(home, 'GET', './rooms')).toEqual([200, []]);
  const groupId = await home.group();
  const shown = { id: UUID, name: 'Zimmer 1', groupId: null, devices: [] };
  expect(await asked(home, 'POST', './rooms', { name: 'Zimmer 1' })).toEqual([201, shown]);
  const inGroup = { ...shown, groupId };
  const body = { name: 'Zimmer 1', groupId };
  expect(await asked(home, 'POST', './rooms', body)).toEqual([201, inGroup]);
  expect(await asked(home, 'GET', './rooms')).toEqual([200, [shown, inGroup]]);

  const [first] = (await home.must('GET', './rooms')).list();
  const room = `./rooms/${first?.['id']}`;
  expect(await asked(home, 'PATCH', room, { name: 'Bad' })).toEqual([
    200,
    { ...shown, name: 'Bad' },
  ]);
  const moved = { ...inGroup, name: 'WC' };
  expect(await asked(home, 'PATCH', room, { name: 'WC', groupId })).toEqual([200, moved]);

  const device = await home.device();
  await home.move(device, { targetRoomId: String(first?.['id']) });
  // 409 when devices are still assigned.
  expect((await asked(home, 'DELETE', room))[0]).toBe(409);
  await home.move(device, { targetRoomId: null });
  expect(await asked(home, 'DELETE', room)).toEqual([204, undefined]);
  expect(await asked(home, 'GET', './rooms')).toEqual([200, [inGroup]]);
});

test('List, create, update and delete groups', async ({ home }) => {
  expect(await asked(home, 'GET', './groups')).toEqual([200, []]);
  const shown = { id: UUID, name: 'Station 1', rooms: [] };
  expect(await asked(home, 'POST', './groups', { name: 'Station 1' })).toEqual([201, shown]);
  const [{ id } = { id: '' }] = (await home.must('GET', './groups')).list();
  const group = `./groups/${id}`;
  const renamed = { ...shown, name: 'Station 2' };
  expect(await asked(home, 'PATCH', group, { name: 'Station 2' })).toEqual([200, renamed]);
  const roomId = await home.room('Zimmer 1', String(id));
  expect(await asked(home, 'GET', './groups')).toEqual([200, [{ ...renamed, rooms: [roomId] }]]);
  // 409 when rooms are still assigned.
  expect((await asked(home, 'DELETE', group))[0]).toBe(409);
  await home.must('DELETE', `./rooms/${roomId}`);
  expect(await asked(home, 'DELETE', group)).toEqual([204, undefined]);
  expect(await asked(home, 'GET', './groups')).toEqual([200, []]);
});

test('Move a room to a group: 204', async ({ home }) => {
  const { group, groupId, room, roomId } = await furnished(home);
  const targetGroupId = await home.group('Station 2');
  const move = `${group}/rooms/${roomId}/move`;
  expect(await asked(home, 'POST', move, { targetGroupId })).toEqual([204, undefined]);
  expect((await home.must('GET', room)).json).toMatchObject({ groupId: targetGroupId });
  const groups = (await home.must('GET', './groups')).json;
  expect(groups).toMatchObject([
    { id: groupId, rooms: [] },
    { id: targetGroupId, rooms: [roomId] },
  ]);
});

test('Alarm event: id, detectedAt, kind and footage, of every kind', async ({ home }) => {
  const device = await home.device();
  const events = ALARM_KINDS.map((kind, second) => {
    return { kind, detectedAt: `2026-11-20T10:00:0${second}.123Z` };
  });
  const sent = events.map((event) => JSON.stringify(event));
  await home.publish(device, 'alarms', sent);
  const answer = await home.must('GET', `./devices/${device.id}/alarms?order=asc`);
  expect(answer.at('nextCursor') ?? null).toBe(null);
  const footage = { video: null, audio: null };
  const expected = events.map((event) => ({ id: UUID, ...event, footage, state: 'raised' }));
  expect(answer.list('events')).toEqual(expected);
});

const LISTINGS: readonly [query: string, minutes: readonly number[] | number][] = [
  ['', [4, 3, 2, 1, 0]],
  ['order=desc', [4, 3, 2, 1, 0]],
  ['order=asc', [0, 1, 2, 3, 4]],
  ['before=@2', [1, 0]],
  ['after=@2', [4, 3]],
  ['before=@4&after=@1&order=asc', [2, 3]],
  ['kinds=noise,helpCall', [3, 1]],
  ['limit=2', [4, 3]],
  ['kinds=fell', 400],
  ['order=up', 400],
  ['limit=101', 400],
];

test('Alarm events of a device: before, after, order, limit and kinds', async ({ home }) => {
  const device = await home.device();
  const at = (minute: number | string) => `2026-11-20T10:0${minute}:00.000Z`;
  const kinds = ['fall', 'noise', 'fall', 'helpCall', 'fall'];
  const alarms = kinds.map((kind, minute) => JSON.stringify({ kind, detectedAt: at(minute) }));
  await home.publish(device, 'alarms', alarms);
  for (const [query, expected] of LISTINGS) {
    const filled = query.replaceAll(/@(\d)/g, (_, minute: string) => at(minute));
    const answer = await home.ask('GET', `./devices/${device.id}/alarms?${filled}`);
    const found =
      answer.status === 200
        ? answer.list('events').map(({ detectedAt }) => detectedAt)
        : answer.status;
    const wanted = typeof expected === 'number' ? expected : expected.map(at);
    expect([query, found]).toEqual([query, wanted]);
  }
});

test('Page size: default and maximum 100, next page from nextCursor', async ({ home }) => {
  const device = await home.device();
  const ids = Array.from({ length: 101 }, () => randomUUID());
  await home.publish(
    device,
    'alarms',
    ids.map((id) => JSON.stringify({ kind: 'noise', id })),
  );
  const path = `./devices/${device.id}/alarms`;
  const first = await home.must('GET', path);
  const cursor = encodeURIComponent(first.string('nextCursor'));
  const second = await home.must('GET', `${path}?cursor=${cursor}`);
  const pages = [first.list('events'), second.list('events')];
  expect(pages.map(({ length }) => length)).toEqual([100, 1]);
  expect(second.at('nextCursor') ?? null).toBe(null);
  expect(new Set(pages.flat().map(({ id }) => id))).toEqual(new Set(ids));
});

test('Custom data: the stored JSON object, empty when the device has none', async ({ home }) => {
  const device = await home.device();
  const path = `./devices/${device.id}/custom-data`;
  expect(await asked(home, 'GET', path)).toEqual([200, {}]);
  await home.customData(device, '{"ref":[1,null]}');
  expect(await asked(home, 'GET', path)).toEqual([200, { ref: [1, null] }]);
  // Included under this key in every message forwarded for the device.
  const nurse = await home.nurse({ filters: [home.filter(device)] });
  await home.publish(device, 'alarms', '{"kind":"fall"}');
  await home.publish(device, 'temperature', '21');
  await nurse.until(
    ({ records }) => ['fall', 'temperature'].every((end) => hasTopic(records, end)),
    'both',
  );
  const data = nurse.messages().map(({ customData }) => customData);
  expect(new Set(data.map((one) => JSON.stringify(one)))).toEqual(new Set(['{"ref":[1,null]}']));
});

function hasTopic(records: readonly { readonly topic: string }[], end: string): boolean {
  return records.some(({ topic }) => topic.endsWith(end));
}

test('Set custom data: any JSON object of at most 1024 bytes, else 400', async ({ home }) => {
  const { id } = await home.device();
  const path = `./devices/${id}/custom-data`;
  const headers = { 'Content-Type': 'application/json' };
  const set = async (body: string) => (await home.ask('PATCH', path, { body, headers })).status;
  const ofLength = (length: number) => JSON.stringify({ x: 'x'.repeat(length - 8) });
  for (const body of ['{}', '{"x":{"y":[1.5,null,true]}}', ofLength(1024)]) {
    expect([body, await set(body)]).toEqual([body, 200]);
  }
  for (const body of [ofLength(1025), '{"x":', '[]', '"x"', '']) {
    expect([body, await set(body)]).toEqual([body, 400]);
  }
  expect((await home.must('GET', path)).text).toBe(ofLength(1024));
});
