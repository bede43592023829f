/**
 * The history of alarms over HTTP: lists, pages and filters (contract 2, "Alarm history" and "Finding
 * alarms").
 *
 * An alarm shows the home as it was when it was accepted, and belongs to the location in which it happened.
 */
import { randomUUID } from 'node:crypto';
import {
  type Answer,
  type Asking,
  describe,
  each,
  expect,
  type Home,
  type TestDevice,
  test,
} from '../harness/index.js';

const CSV = { Accept: 'text/csv' };

const HOUR_MS = 3_600_000;

function at(second: number): string {
  return new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
}

/** Puts the device into a new room of a new group. */
async function placeInGroup(home: Home, device: TestDevice) {
  const group = await home.group();
  const room = await home.room('Zimmer 1', group);
  await home.move(device, { targetRoomId: room });
  return { group, room };
}

async function otherHome(home: Home, name = 'Elm'): Promise<string> {
  return (await home.must('POST', '/care-homes', { json: { name } })).id;
}

function idsIn(page: Answer): string[] {
  return page.list('events').map(({ id }) => String(id));
}

type List = (query: string) => Promise<Answer>;
type NamedList = readonly [name: string, list: List];

/** The three paged lists of alarms, each with the alarms of the device. */
function listsOf(home: Home, { id }: TestDevice): readonly [NamedList, NamedList, NamedList] {
  const { token } = home.viewer;
  return [
    ['of a device', (query) => home.must('GET', `./devices/${id}/alarms?${query}`)],
    ['of a location', (query) => home.must('GET', `./alarms?${query}`)],
    ['of all locations', (query) => home.must('GET', `/alarms?${query}`, { token })],
  ];
}

/** Follows the cursors of a list to its end, and inserts more after each page. */
async function pagesThrough(
  list: List,
  query: string,
  insertMeanwhile: (page: number) => Promise<unknown> = async () => undefined,
): Promise<string[][]> {
  const pages: string[][] = [];
  for (let cursor: unknown = ''; cursor !== null; ) {
    const page: Answer = await list(cursor === '' ? query : `${query}&cursor=${cursor}`);
    pages.push(idsIn(page));
    await insertMeanwhile(pages.length);
    cursor = page.at('nextCursor');
  }
  return pages;
}

describe('pages', () => {
  test('have each alarm once that was there at the first, whatever arrives meanwhile', async ({
    home,
  }) => {
    const device = await home.device();
    const recorded: { readonly id: string; readonly second: number }[] = [];
    const insert = async (seconds: readonly number[]) => {
      const alarms = seconds.map((second) => ({ detectedAt: at(second) }));
      const ids = await home.record(device, ...alarms);
      recorded.push(...seconds.map((second, index) => ({ id: ids[index] ?? '', second })));
    };
    const passThrough = async ([name, list]: NamedList, order: string, burst = 4) => {
      const sorted = recorded.toSorted((one, other) => one.second - other.second);
      const ids = (order === 'asc' ? sorted : sorted.toReversed()).map(({ id }) => id);
      // Earlier, equal and later ones; of one moment, more than the gateway reads at a time.
      const more = [1, ...Array(burst).fill(2), 3];
      const pages = await pagesThrough(list, `order=${order}&limit=49`, async (page) => {
        if (page < 3) await insert(page === 1 ? more : [1, 2, 3]);
      });
      expect([name, order, pages.flat()]).toEqual([name, order, ids]);
      // Full, but for the last.
      expect(pages.slice(0, -1).filter(({ length }) => length < 49)).toEqual([]);
    };
    // Many of one moment: they must keep a fixed order across pages.
    await insert([1, 3, ...Array(120).fill(2)]);
    for (const list of listsOf(home, device)) {
      await passThrough(list, 'asc');
      await passThrough(list, 'desc');
    }
    await passThrough(listsOf(home, device)[1], 'asc', 1_100);
    await passThrough(listsOf(home, device)[2], 'desc');
  });

  test('have 100 alarms unless fewer are asked for, and no next one when the last is full', async ({
    home,
  }) => {
    const device = await home.device();
    await home.record(device, ...Array(101).fill({}));
    for (const [name, list] of listsOf(home, device)) {
      const lengths = async (query: string) =>
        (await pagesThrough(list, query)).map(({ length }) => length);
      expect([name, await lengths('')]).toEqual([name, [100, 1]]);
      expect([name, await lengths('limit=51')]).toEqual([name, [51, 50]]);
    }
    await home.record(device, ...Array(99).fill({}));
    for (const [name, list] of listsOf(home, device)) {
      const pages = await pagesThrough(list, 'limit=100');
      expect([name, pages.length]).toEqual([name, 2]);
    }
  });

  test('of a group are full of the alarms raised in it', async ({ home }) => {
    const [inside, outside] = [await home.device(), await home.device()];
    const { group, room } = await placeInGroup(home, inside);
    const expected: string[] = [];
    for (let second = 0; second < 4; second++) {
      expected.push(...(await home.record(inside, { detectedAt: at(10 * second) })));
      await home.record(outside, { detectedAt: at(10 * second + 1) }, {});
    }
    // One device has left the group, and another has entered it.
    await home.move(inside, { targetRoomId: null });
    await home.record(inside, { detectedAt: at(50) });
    await home.move(outside, { targetRoomId: room });
    expected.push(...(await home.record(outside, { detectedAt: at(51) })));
    const { token } = await home.token([{ role: 'viewer', group }]);
    const [a, b, c, d, e] = expected.toReversed();
    const pages = (path: string) =>
      pagesThrough((query) => home.must('GET', `${path}?${query}`, { token }), 'limit=2');
    expect(await pages('./alarms')).toEqual([[a, b], [c, d], [e]]);
    expect(await pages('/alarms')).toEqual([[a, b], [c, d], [e]]);
    expect(await pages(`./devices/${outside.id}/alarms`)).toEqual([[a]]);
  });
});

describe('a cursor', () => {
  const QUERY = { limit: '1', order: 'asc', after: at(0), before: at(9), kinds: 'fall,noise' };

  async function listed(home: Home) {
    const device = await home.device();
    const rooms = `${await home.room()},${await home.room()}`;
    await home.move(device, { targetRoomId: rooms.split(',')[0] });
    await home.record(device, { detectedAt: at(1) }, { detectedAt: at(2) });
    const asked = async (path: string, query: Record<string, string | undefined>) => {
      const given = Object.entries(query).filter(([, value]) => value !== undefined);
      const parameters = new URLSearchParams(given.map(([name, value]) => [name, `${value}`]));
      return (await home.ask('GET', `${path}?${parameters}`)).outcome;
    };
    return { device, rooms, asked };
  }

  test('is valid for its own list, order and filters, however they are written', async ({
    home,
  }) => {
    const { device, rooms, asked } = await listed(home);
    const other = await home.device();
    const own = { ...QUERY, room: rooms };
    const first = await home.must('GET', `./alarms?${new URLSearchParams(own)}`);
    const cursor = first.string('nextCursor');
    const rows: [string, Record<string, string | undefined>, string?][] = [
      ['200', {}],
      ['200', { limit: '50' }],
      ['200', { kinds: 'noise,fall,noise' }],
      ['200', { after: '2026-01-01T01:00:00+01:00' }],
      ['200', { room: rooms.toUpperCase() }],
      ['400 invalid-cursor', { order: 'desc' }],
      ['400 invalid-cursor', { kinds: 'fall' }],
      ['400 invalid-cursor', { kinds: undefined }],
      ['400 invalid-cursor', { before: at(8) }],
      ['400 invalid-cursor', { after: at(1) }],
      ['400 invalid-cursor', { room: rooms.split(',')[0] }],
      ['400 invalid-cursor', { room: undefined, group: rooms }],
      ['400 invalid-cursor', { room: undefined, device: rooms }],
      ['400 invalid-cursor', { state: 'raised' }],
      ['400 invalid-cursor', {}, '/alarms'],
      ['400 invalid-cursor', { room: undefined }, `./devices/${device.id}/alarms`],
    ];
    const outcomes = await each(rows, async ([, change, path = './alarms']) => [
      await asked(path, { ...own, cursor, ...change }),
      change,
      ...(path === './alarms' ? [] : [path]),
    ]);
    expect(outcomes).toEqual(rows);
    const ofDevice = `./devices/${device.id}/alarms`;
    const page = await home.must('GET', `${ofDevice}?limit=1`);
    const next = { limit: '1', cursor: page.string('nextCursor') };
    expect(await asked(ofDevice, next)).toBe('200');
    expect(await asked(`./devices/${other.id}/alarms`, next)).toBe('400 invalid-cursor');
  });

  test('is refused when altered or invented', async ({ home }) => {
    const { asked } = await listed(home);
    const cursor = (await home.must('GET', './alarms?limit=1')).string('nextCursor');
    const forged = Buffer.from('{"position":0}').toString('base64url');
    const altered = [cursor.slice(0, -1), `${cursor}=`, `${cursor}A`, `${cursor}!`];
    for (const wrong of ['', 'x', forged, ...altered]) {
      const outcome = await asked('./alarms', { limit: '1', cursor: wrong });
      expect([wrong, outcome]).toEqual([wrong, '400 invalid-cursor']);
    }
  });
});

/** A home with a device in a room of a group, one in another room and one in none; another home has one, too. */
async function furnished(home: Home) {
  const [grouped, inRoom, nowhere] = [
    await home.device(),
    await home.device(),
    await home.device(),
  ];
  const { group, room } = await placeInGroup(home, grouped);
  const plain = await home.room('Bad');
  await home.move(inRoom, { targetRoomId: plain });
  const other = await otherHome(home);
  const away = await home.device();
  await home.move(away, { targetLocationId: other });
  const devices = { grouped, inRoom, nowhere, away };
  const ids = {
    grouped: (await home.record(grouped, { detectedAt: '2026-01-01T00:00:00.123Z' }))[0] ?? '',
    inRoom: (await home.record(inRoom, { kind: 'noise', detectedAt: at(1) }))[0] ?? '',
    nowhere: (await home.record(nowhere, { detectedAt: at(2) }))[0] ?? '',
    away: (await home.record(away, { detectedAt: at(3) }))[0] ?? '',
  };
  /** Whose alarms are on the page, the oldest first. */
  const names = async (path: string, asking?: Asking) => {
    const ofId = new Map(Object.entries(ids).map(([name, id]) => [id, name]));
    const page = await home.must('GET', path, asking);
    return idsIn(page)
      .flatMap((id) => ofId.get(id) ?? [])
      .toReversed()
      .join(' ');
  };
  return { devices, ids, other, group, room, plain, names };
}

describe('the alarms of a location', () => {
  const KINDS_AND_TIMES: readonly [query: string, alarmsOf: string][] = [
    ['', 'grouped inRoom nowhere'],
    ['kinds=noise', 'inRoom'],
    ['kinds=fall,outOfBed,fall', 'grouped nowhere'],
    ['kinds=wandering', ''],
    // Bounds are exclusive, and finer than a millisecond.
    [`after=${at(1)}`, 'nowhere'],
    [`before=${at(1)}`, 'grouped'],
    [`after=${at(0)}&before=${at(2)}`, 'grouped inRoom'],
    [`after=${at(1)}&before=${at(1)}`, ''],
    ['before=2026-01-01T00:00:00.1239Z', 'grouped'],
    ['before=2026-01-01T01:00:00.123001%2B01:00', 'grouped'],
    ['before=2026-01-01T00:00:00.123000Z', ''],
    ['before=2026-01-01T00:00:00.1229Z', ''],
    [`after=2026-01-01T00:00:00.1229Z&before=${at(1)}`, 'grouped'],
    [`after=2026-01-01T00:00:00.123000Z&before=${at(1)}`, ''],
    [`after=2026-01-01T00:00:00.1239Z&before=${at(1)}`, ''],
    // Any offset, its plus sign escaped or not.
    ['before=2026-01-01T01:00:00.5%2B01:00', 'grouped'],
    ['before=2026-01-01T01:00:00.5+01:00', 'grouped'],
    ['before=2025-12-31t23:00:00.5-01:00', 'grouped'],
    ['before=2026-01-01T00:00:00.5z', 'grouped'],
  ];
  const PLACES: readonly [query: string, alarmsOf: string][] = [
    ['room={room}', 'grouped'],
    ['room={ROOM},{plain}', 'grouped inRoom'],
    ['group={group}', 'grouped'],
    ['device={grouped},{nowhere}', 'grouped nowhere'],
    ['device={grouped},{nowhere}&group={group}', 'grouped'],
    ['device={away}', ''],
    ['room={room}&kinds=noise', ''],
    [`group=${randomUUID()}`, ''],
    [`device=${randomUUID()}`, ''],
  ];

  test('are found by kind, time, and the room, group and device where they happened', async ({
    home,
  }) => {
    const { devices, group, room, plain, names } = await furnished(home);
    await home.move(devices.grouped, { targetRoomId: null });
    const places = { room, ROOM: room.toUpperCase(), plain, group };
    const ids = new Map(Object.entries(places));
    for (const [name, { id }] of Object.entries(devices)) ids.set(name, id);
    const fill = (query: string) =>
      query.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids.get(name) ?? name);
    const rows = [...KINDS_AND_TIMES, ...PLACES];
    const found = await each(rows, async ([query]) => [
      query,
      await names(`./alarms?${fill(query)}`),
    ]);
    expect(found).toEqual(rows);
    const ofDevice = `./devices/${devices.grouped.id}/alarms`;
    const foundOfDevice = await each(KINDS_AND_TIMES, async ([query]) => [
      query,
      await names(`${ofDevice}?${query}`),
    ]);
    const ofIt = (alarmsOf: string) => (alarmsOf.startsWith('grouped') ? 'grouped' : '');
    expect(foundOfDevice).toEqual(KINDS_AND_TIMES.map(([query, all]) => [query, ofIt(all)]));
  });

  const WRONG: readonly [string, string][] = [
    ...['0', '101', '-1', '1.5', '1e1', '', 'ten', '1&limit=2'].map((value): [string, string] => [
      `limit=${value}`,
      'limit',
    ]),
    ['order=ASC', 'order'],
    ['order=', 'order'],
    ['kinds=', 'kinds.0'],
    ['kinds=fall,', 'kinds.1'],
    ['kinds=falls', 'kinds.0'],
    ['kinds=fall&kinds=noise', 'kinds'],
    ['before=', 'before'],
    ['before=2026-01-01', 'before'],
    ['before=2026-01-01T00:00:00', 'before'],
    ['before=2026-02-30T00:00:00Z', 'before'],
    ['after=1767225600000', 'after'],
    [`after=${at(0)}&after=${at(0)}`, 'after'],
  ];
  const WRONG_OF_LOCATION = ['room', 'group', 'device'].flatMap((name): [string, string][] => [
    [`${name}=`, name],
    [`${name}=x`, name],
    [`${name}=${randomUUID()},`, name],
    [`${name}=${randomUUID()},x`, name],
  ]);

  test('are refused for a wrong parameter, which is named', async ({ home }) => {
    const { id } = await home.device();
    const asked = (path: string, rows: typeof WRONG) =>
      each(rows, async ([query]) => {
        const { status, errors = [] } = (await home.ask('GET', `${path}?${query}`)).problem;
        return status === 400 && [query, errors.map(({ path }) => path).join()];
      });
    expect(await asked(`./devices/${id}/alarms`, WRONG)).toEqual(WRONG);
    const rows = [...WRONG, ...WRONG_OF_LOCATION];
    expect(await asked('./alarms', rows)).toEqual(rows);
  });

  test('show the names, the place and the data of then, with JSON texts unchanged', async ({
    home,
  }) => {
    const device = await home.device();
    const customData = '{"phone": 9007199254740993, "rate":1.10,"__proto__":{"b":1,"a":2}}';
    const [bare] = await home.record(device, { kind: 'noise', detectedAt: at(1) });
    const { group, room } = await placeInGroup(home, device);
    await home.customData(device, customData);
    const members = '"serial":18446744073709551615,"level":0.50';
    const full = randomUUID();
    const text = `{"id":"${full}","kind":"fall","detectedAt":"2026-01-01T01:00:02+01:00",${members}}`;
    await home.publish(device, 'alarms', text);
    await home.customData(device, '{}');
    for (const path of [`./devices/${device.id}`, `./groups/${group}`, './', `./rooms/${room}`]) {
      const json = { name: 'Later' };
      await home.must('PATCH', path === './' ? home.path : path, { json });
    }
    const answer = await home.must('GET', './alarms');
    const then = {
      detectedAt: at(2),
      deviceId: device.id,
      device: { id: device.id, name: 'Bett 1' },
      receivedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      footage: { video: null, audio: null },
      state: 'raised',
    };
    expect(answer.list('events')).toEqual([
      expect.objectContaining({
        ...then,
        id: full,
        roomId: room,
        room: { id: room, name: 'Zimmer 1' },
        group: { id: group, name: 'Station 1' },
      }),
      expect.objectContaining({
        ...then,
        id: bare,
        detectedAt: at(1),
        roomId: null,
        room: null,
        group: null,
        data: null,
        customData: {},
      }),
    ]);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.text).toContain(`"data":{${members}},`);
    expect(answer.text).toContain(`"customData":${customData}}`);
    // The list of a device has the fields of the specification, and the state.
    const { detectedAt, footage, state } = then;
    const [event] = (await home.must('GET', `./devices/${device.id}/alarms`)).list('events');
    expect(event).toEqual({ id: full, kind: 'fall', detectedAt, footage, state });
  });

  test('stay there when their device moves or is deleted', async ({ home }) => {
    const device = await home.device();
    const next = await otherHome(home);
    const [before] = await home.record(device, {});
    await home.move(device, { targetLocationId: next });
    const [after] = await home.record(device, {});
    const idsOf = async (location: string, path: string) => {
      const { token } = await home.token([{ location, role: 'viewer' }]);
      return idsIn(await home.must('GET', `/care-homes/${location}/${path}`, { token }));
    };
    expect(await idsOf(home.locationId, 'alarms')).toEqual([before]);
    expect(await idsOf(next, 'alarms')).toEqual([after]);
    const ofDevice = `devices/${device.id}/alarms`;
    expect(await idsOf(next, ofDevice)).toEqual([after]);
    await home.must('DELETE', `/care-homes/${next}/devices/${device.id}`);
    expect(await idsOf(next, `alarms?device=${device.id}`)).toEqual([after]);
    const gone = await home.ask('GET', `/care-homes/${next}/${ofDevice}`);
    expect(gone.outcome).toBe('404 device-not-found');
  });

  test('are those of a group for a grant on it, whatever is asked for', async ({ home }) => {
    const { devices, ids, group, room, plain, names } = await furnished(home);
    const { token } = await home.token([{ role: 'viewer', group }]);
    const asked = (query: string) => names(`./alarms?${query}`, { token });
    expect(await asked('')).toBe('grouped');
    expect(await asked(`room=${room},${plain}`)).toBe('grouped');
    expect(await asked(`device=${devices.nowhere.id}`)).toBe('');
    expect(await asked(`group=${randomUUID()}`)).toBe('');
    const one = async (id: string) => (await home.ask('GET', `./alarms/${id}`, { token })).outcome;
    expect(await one(ids.grouped)).toBe('200');
    // One that it does not cover looks like a missing one.
    expect(await one(ids.inRoom)).toBe('403 forbidden');
    expect(await one(randomUUID())).toBe('403 forbidden');
  });
});

test('the alarms of all locations are those that the grants cover, each with its location', async ({
  home,
}) => {
  const { devices, ids, other, group, names } = await furnished(home);
  const some = await home.token([
    { location: other, role: 'viewer' },
    { role: 'viewer', group },
  ]);
  expect(await names('/alarms', some)).toBe('grouped away');
  expect(await names('/alarms?kinds=noise', some)).toBe('');
  expect(await names('/alarms', await home.token('publisher'))).toBe('');
  const all = await home.token([{ location: '*', role: 'viewer' }]);
  const device = Object.values(devices).map(({ id }) => id);
  expect(await names(`/alarms?device=${device}`, all)).toBe('grouped inRoom nowhere away');
  const newest = await home.must('GET', '/alarms?limit=1', some);
  expect(newest.list('events')).toMatchObject([{ id: ids.away, location: { name: 'Elm' } }]);
  expect((await home.ask('GET', '/alarms', { token: null })).outcome).toBe('401 unauthenticated');
  const [header, ...lines] = (await home.must('GET', '/alarms', { ...some, headers: CSV })).text
    .trimEnd()
    .split('\r\n');
  expect(header).toMatch(/^locationId,locationName,id,kind,/);
  expect(lines.map((line) => line.split(',').slice(0, 3))).toEqual([
    [other, 'Elm', ids.away],
    [home.locationId, home.name, ids.grouped],
  ]);
});

test('an alarm is found by its id in its location, and looks as it does in the list', async ({
  home,
}) => {
  const { ids, other } = await furnished(home);
  const [listed] = (await home.must('GET', './alarms?kinds=noise')).list('events');
  expect((await home.must('GET', `./alarms/${ids.inRoom.toUpperCase()}`)).json).toEqual(listed);
  const outcome = async (path: string) => (await home.ask('GET', path)).outcome;
  expect(await outcome(`./alarms/${randomUUID()}`)).toBe('404 alarm-not-found');
  expect(await outcome(`./alarms/${ids.away}`)).toBe('404 alarm-not-found');
  expect(await outcome(`/care-homes/${other}/alarms/${ids.inRoom}`)).toBe('404 alarm-not-found');
  expect(await outcome('./alarms/x')).toBe('400 invalid-request');
});

test('a test alarm is an alarm of its device for everyone, and says that it is a test', async ({
  home,
}) => {
  const device = await home.device();
  const nurse = await home.nurse();
  const path = `./devices/${device.id}/test-alarm`;
  expect((await home.ask('POST', path, { json: { kind: 'fire' } })).status).toBe(400);
  const asked = [{ json: { kind: 'fall' } }, { json: {} }, {}];
  for (const [index, asking] of asked.entries()) {
    const answer = await home.must('POST', path, asking);
    const shown = { id: answer.id, kind: index === 0 ? 'fall' : 'helpCall', data: { test: true } };
    expect(answer.status).toBe(202);
    await nurse.untilCount(index + 1);
    expect(nurse.messages().at(-1)).toMatchObject({ ...shown, device: { id: device.id } });
    const [event] = (await home.must('GET', './alarms?limit=1')).list('events');
    expect(event).toMatchObject({ ...shown, deviceId: device.id, state: 'raised' });
  }
});

test('the rejected publishes of a location are listed newest first, by the group of then', async ({
  home,
}) => {
  const [one, other] = [await home.device(), await home.device()];
  const { group, room } = await placeInGroup(home, other);
  expect((await home.must('GET', './rejected')).json).toEqual([]);
  // They are stored in the background.
  const count = async () => (await home.must('GET', './rejected')).list().length;
  for (const [index, device] of [one, other].entries()) {
    await home.publish(device, 'alarms', [Buffer.from([0xff, 0x00])]);
    await expect.poll(count).toBe(index + 1);
  }
  const [ofOne, ofOther] = [one, other].map(({ id }) => ({
    deviceId: id,
    reason: 'not-json',
    topic: `devices/${id}/alarms`,
    base64: '/wA=',
    receivedAt: expect.any(String),
  }));
  await home.move(one, { targetRoomId: room });
  await home.must('DELETE', `./devices/${one.id}`);
  expect((await home.must('GET', './rejected')).json).toEqual([ofOther, ofOne]);
  const ofGroup = await home.token([{ role: 'manager', group }]);
  expect((await home.must('GET', './rejected', ofGroup)).json).toEqual([ofOther]);
});

test('an alarm has the same bytes for who is there and for who comes later', async ({ home }) => {
  const device = await home.device('Bett "1" \\ Ü');
  await placeInGroup(home, device);
  const absent = await home.nurse({ isDurable: true });
  const live = await home.nurse();
  await absent.leave();
  const texts = (n: number) => [
    '{"kind":"fall","detectedAt":"2026-01-01T01:00:00.1239+01:00","a":1.10,"b":9007199254740993}'.replace(
      'T01',
      `T0${n}`,
    ),
    '{"kind":"noise","detectedAt":12,"__proto__":{"b":1},"text":"\\u00fc\\/ 🧓","e":1e400,"z":-0}',
    `{ "kind":"helpCall",\n"footage":{"video":"devices/${device.id}/1"}, "list":[ 1 ,\t2 ] }`,
    'not JSON, but "kind":"wandering"',
  ];
  for (const [n, customData] of ['{"ref" : 1.10,"ref2":"\\ud83d"}', '{}'].entries()) {
    await home.customData(device, customData);
    await home.publish(device, 'alarms', texts(n));
  }
  await live.untilRecords(8);
  await absent.connect();
  await absent.untilRecords(8);
  const textsOf = ({ records }: typeof live) => records.map(({ text }) => text);
  expect(textsOf(absent)).toEqual(textsOf(live));
});

test('an alarm leaves the history with its age, but not before everybody has it', async ({
  own,
}) => {
  const home = await own.home({ env: { GATEWAY_HISTORY_RETENTION_DAYS: '1' } });
  const { clock } = home.gateway;
  const device = await home.device();
  const [old = ''] = await home.record(device, {});
  await home.must('POST', `./alarms/${old}/acknowledge`);
  const nurse = await home.nurse({ isDurable: true });
  await nurse.leave();
  const [queued] = await home.record(device, {});
  await clock.advance(23 * HOUR_MS);
  const [fresh] = await home.record(device, { detectedAt: at(0) });
  await clock.advance(2 * HOUR_MS);
  const history = async () => idsIn(await home.must('GET', './alarms'));
  expect(await history()).toEqual([queued, old, fresh]);
  // Each start looks for old ones.
  await home.gateway.restart();
  await expect.poll(history).toEqual([queued, fresh]);
  expect((await home.ask('GET', `./alarms/${old}`)).outcome).toBe('404 alarm-not-found');
  await nurse.connect();
  await nurse.untilRecords(2);
  const account = () => home.account(nurse.clientId, 'alarms');
  await expect.poll(account).toMatchObject({ delivered: 2, queued: 0, dropped: 0, expired: 0 });
  await home.gateway.restart();
  await expect.poll(history).toEqual([fresh]);
  // Its id is free again.
  await home.record(device, { id: old });
  expect(await history()).toEqual([old, fresh]);
});
