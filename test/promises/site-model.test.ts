/**
 * No interleaving of requests leaves a device in two places, a room in a deleted group or a deleted location with
 * devices (contract 2): random requests at the same time, judged by what HTTP and retained topics show, by the audit
 * trail, and by what is there after a restart.
 */
import fc from 'fast-check';
import {
  ask,
  Client,
  createToken,
  expect,
  type Gateway,
  must,
  NO_LIMITS,
  type TestToken,
  testWith,
} from '../harness/index.js';

const test = testWith({ env: NO_LIMITS });
const RUNS = 5;

/** Two locations with two groups, two rooms and a device each: few, so that requests collide. */
type Ids = Readonly<Record<'L' | 'G' | 'R' | 'D', readonly string[]>>;

/** A letter is one of the things of its kind, or null if `?` follows. */
const TEMPLATES: readonly [method: string, path: string, json?: object][] = [
  ['DELETE', '/care-homes/L'],
  ['DELETE', '/care-homes/L/groups/G'],
  ['DELETE', '/care-homes/L/rooms/R'],
  ['DELETE', '/care-homes/L/devices/D'],
  ['POST', '/care-homes/L/groups', { name: 'new' }],
  ['POST', '/care-homes/L/devices', { name: 'new' }],
  ['POST', '/care-homes/L/rooms', { name: 'new', groupId: 'G?' }],
  ['PATCH', '/care-homes/L/rooms/R', { groupId: 'G?' }],
  ['POST', '/care-homes/L/groups/G/rooms/R/move', { targetGroupId: 'G' }],
  ['POST', '/care-homes/L/devices/D/move', { targetRoomId: 'R?' }],
  ['POST', '/care-homes/L/devices/D/move', { targetLocationId: 'L' }],
];

interface Request {
  readonly method: string;
  readonly path: string;
  readonly json?: object;
}

const requests: fc.Arbitrary<Choice> = fc.tuple(
  fc.constantFrom(...TEMPLATES),
  fc.array(fc.nat({ max: 3 }), { minLength: 4, maxLength: 4 }),
);

type Choice = readonly [template: (typeof TEMPLATES)[number], chosen: readonly number[]];

function filled([template, chosen]: Choice, ids: Ids): Request {
  const [method, path, json] = template;
  const choices = [...chosen];
  const text = JSON.stringify({ method, path, json }).replaceAll(
    /(["/])([LGRD])(\??)(?=["/])/g,
    (_, before: string, kind: keyof Ids, mayBeNull: string) => {
      const choice = choices.shift() ?? 0;
      const id = ids[kind][choice % ids[kind].length] ?? '';
      // The quotes of a null go, too.
      return mayBeNull === '?' && choice === 3 ? '\u0000' : `${before}${id}`;
    },
  );
  return JSON.parse(text.replaceAll('\u0000"', 'null'));
}

async function populate(gateway: Gateway): Promise<Ids> {
  const create = async (path: string, json: object) => must(gateway, 'POST', path, { json });
  const ids: Record<keyof Ids, string[]> = { L: [], G: [], R: [], D: [] };
  for (const name of ['Birke', 'Ahorn']) {
    const { id } = await create('/care-homes', { name });
    const home = `/care-homes/${id}`;
    const group = (await create(`${home}/groups`, { name: 'Station 1' })).id;
    const rooms = [
      await create(`${home}/rooms`, { name: 'Zimmer 1', groupId: group }),
      await create(`${home}/rooms`, { name: 'Zimmer 2' }),
    ];
    const device = await create(`${home}/devices`, { name: 'Bett 1' });
    // Its status is retained from now on.
    const who = { username: device.id, password: device.string('secret') };
    await (await Client.connect(gateway, who)).end();
    ids.L.push(id);
    ids.G.push(group, (await create(`${home}/groups`, { name: 'Station 2' })).id);
    ids.R.push(...rooms.map((room) => room.id));
    ids.D.push(device.id);
  }
  return ids;
}

/** Everything that HTTP shows; every list must agree with every other. */
async function site(gateway: Gateway) {
  const list = async (path: string) => (await must(gateway, 'GET', path)).list();
  const locations = [];
  for (const location of await list('/care-homes')) {
    const of = async (kind: string) => list(`/care-homes/${location['id']}/${kind}`);
    const [groups, rooms, devices] = [await of('groups'), await of('rooms'), await of('devices')];
    const idsWhere = (all: typeof rooms, field: string, value: unknown) =>
      all.filter((one) => one[field] === value).map(({ id }) => id);
    expect(location['devices']).toEqual(devices.map(({ id }) => id));
    expect(idsWhere(devices, 'locationId', location['id'])).toEqual(location['devices']);
    for (const { id, rooms: shown } of groups)
      expect(shown).toEqual(idsWhere(rooms, 'groupId', id));
    for (const { id, devices: shown } of rooms) {
      expect(shown).toEqual(idsWhere(devices, 'roomId', id));
    }
    expect([null, ...groups.map(({ id }) => id)]).toEqual(
      expect.arrayContaining(rooms.map(({ groupId }) => groupId)),
    );
    expect([null, ...rooms.map(({ id }) => id)]).toEqual(
      expect.arrayContaining(devices.map(({ roomId }) => roomId)),
    );
    locations.push({ ...location, groups, rooms, devices });
  }
  const all = locations.flatMap(({ devices }) => devices.map(({ id }) => id));
  expect(new Set(all).size).toBe(all.length);
  return locations;
}

async function retainedStatuses(gateway: Gateway, token: TestToken): Promise<string[]> {
  const client = await Client.connect(gateway, token);
  await client.subscribe('care-homes/+/devices/+/status', { qos: 0 });
  await client.ping();
  await client.end();
  return client.topics.sort();
}

/** The ids of the newest records of the audit trail, newest first. */
async function newestRecords(gateway: Gateway): Promise<unknown[]> {
  return (await must(gateway, 'GET', '/audit?limit=50')).list('events').map(({ id }) => id);
}

/** Moving a device to the location where it is changes nothing. */
function changesNothing({ path, json }: Request): boolean {
  return path.split('/')[2] === Object(json).targetLocationId;
}

test('random requests at the same time leave everything in one place', {
  timeout: 60_000,
}, async ({ gateway }) => {
  const viewer = await createToken(gateway, [{ location: '*', role: 'viewer' }]);
  const send = ({ method, path, json }: Request) => ask(gateway, method, path, { json });
  const rounds = fc.array(fc.array(requests, { minLength: 2, maxLength: 8 }), { maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(rounds, async (all) => {
      const ids = await populate(gateway);
      for (const round of all) {
        const [last] = await newestRecords(gateway);
        const asked = round.map((request) => filled(request, ids));
        const statuses = (await Promise.all(asked.map(send))).map(({ status }) => status);
        for (const status of statuses) expect([200, 201, 204, 404, 409]).toContain(status);
        const isChange = (request: Request, index: number) =>
          (statuses[index] ?? 0) < 300 && !changesNothing(request);
        const records = await newestRecords(gateway);
        expect(records.indexOf(last)).toBe(asked.filter(isChange).length);
        await site(gateway);
      }
      const before = await site(gateway);
      await gateway.restart();
      expect(await site(gateway)).toEqual(before);
      const devices = before.flatMap((location) => location.devices);
      const expected = devices
        .filter(({ lastSeenAt }) => lastSeenAt !== null)
        .map(({ id, locationId }) => `care-homes/${locationId}/devices/${id}/status`)
        .sort();
      await expect.poll(() => retainedStatuses(gateway, viewer)).toEqual(expected);
      for (const { id, locationId } of devices) {
        await must(gateway, 'DELETE', `/care-homes/${locationId}/devices/${id}`);
      }
      for (const { id } of before.map((location) => Object(location))) {
        await must(gateway, 'DELETE', `/care-homes/${id}`);
      }
      expect(await site(gateway)).toEqual([]);
      await expect.poll(() => retainedStatuses(gateway, viewer)).toEqual([]);
    }),
    // A failed run leaves its site behind, so it is not shrunk.
    { numRuns: RUNS, endOnFailure: true },
  );
});

test('everything of a site is the same after a restart', async ({ gateway, home }) => {
  const groupId = await home.group('Süd');
  const device = await home.deviceIn(await home.room('Bad', groupId), 'Bett 👵');
  const json = { supervision: { silentAfterSeconds: 7_200 } };
  await home.must('PATCH', `./devices/${device.id}`, { json });
  await home.customData(device, '{"__proto__": 1.10, "big": 9007199254740993}');
  await home.token([{ role: 'manager', group: groupId }], 'Station Süd');
  await home.must('PATCH', home.path, { json: { name: 'Haus am Meer' } });
  const paths = ['', '/groups', '/rooms', '/devices', `/devices/${device.id}/custom-data`];
  const shown = () =>
    Promise.all(
      [...paths.map((path) => home.path + path), '/access-tokens'].map(async (path) => {
        const { headers, text } = await home.must('GET', path);
        return { path, text, tag: headers.etag };
      }),
    );
  const before = await shown();
  await gateway.restart();
  expect(await shown()).toEqual(before);
  // Its secret, too.
  await home.client(device);
});
