/**
 * Locations, groups, rooms and devices over HTTP (contract 2): what the specification leaves open about them.
 *
 * What all four kinds promise is one table and one loop each; what only one of them promises follows it.
 */
import { randomUUID } from 'node:crypto';
import { type Answer, expect, type Home, test } from '../harness/index.js';

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const FOREIGN = '00000000-0000-4000-8000-000000000000';

interface Kind {
  readonly what: 'location' | 'group' | 'room' | 'device';
  readonly collection: string;
  /** What a new one shows besides its id and name. */
  readonly fields: (home: Home) => object;
  /** What keeps it from being deleted, and puts such a thing into it. */
  readonly blockedBy?: 'devices' | 'rooms';
  readonly put?: (home: Home, id: string) => Promise<string>;
  /** Takes the thing out again. */
  readonly takeOut?: (home: Home, id: string) => Promise<unknown>;
}

const KINDS: readonly Kind[] = [
  {
    what: 'location',
    collection: '/care-homes',
    fields: () => ({ devices: [] }),
    blockedBy: 'devices',
    put: async (home, id) => {
      const path = `/care-homes/${id}/devices`;
      return `${path}/${(await home.must('POST', path, { json: { name: 'Bett 1' } })).id}`;
    },
    takeOut: (home, path) =>
      home.must('POST', `${path}/move`, { json: { targetLocationId: home.locationId } }),
  },
  {
    what: 'group',
    collection: './groups',
    fields: () => ({ rooms: [] }),
    blockedBy: 'rooms',
    put: async (home, id) => `./rooms/${await home.room('Zimmer 1', id)}`,
    takeOut: (home, path) => home.must('PATCH', path, { json: { groupId: null } }),
  },
  {
    what: 'room',
    collection: './rooms',
    fields: () => ({ groupId: null, devices: [] }),
    blockedBy: 'devices',
    put: async (home, id) => `./devices/${(await home.deviceIn(id)).id}`,
    takeOut: (home, path) => home.must('POST', `${path}/move`, { json: { targetRoomId: null } }),
  },
  {
    what: 'device',
    collection: './devices',
    fields: ({ locationId }) => ({
      locationId,
      roomId: null,
      online: false,
      lastSeenAt: null,
      createdAt: TIME,
    }),
  },
];

/** Creates one, and resolves to its path. */
async function created(home: Home, { collection }: Kind, name = 'Nord'): Promise<string> {
  const { id } = await home.must('POST', collection, { json: { name } });
  return `${collection}/${id}`;
}

const idIn = (path: string) => path.split('/').at(-1) ?? '';

test.for(KINDS)('a new $what is where its Location says', async (kind, { home }) => {
  const answer = await home.ask('POST', kind.collection, { json: { name: ' Nord ' } });
  const { secret, ...shown } = Object(answer.json);
  expect([answer.status, shown]).toEqual([
    201,
    { id: shown.id, name: 'Nord', ...kind.fields(home) },
  ]);
  expect(secret === undefined).toBe(kind.what !== 'device');
  const { location = '' } = answer.headers;
  expect(location).toBe(`${kind.collection.replace('.', home.path)}/${shown.id}`);
  const found = await home.ask('GET', location);
  expect([found.status, found.json]).toEqual([200, shown]);
});

test.for(KINDS)('each $what is listed in the order of creation', async (kind, { home }) => {
  const paths: string[] = [];
  for (const name of ['Süd', 'Nord', 'Ost']) paths.push(await created(home, kind, name));
  const [first = '', second = '', third = ''] = paths;
  const listed = async () => {
    const all = (await home.must('GET', kind.collection)).list();
    const ours = all.filter(({ id }) => paths.map(idIn).includes(String(id)));
    return ours.map(({ id, name }) => `${id} ${name}`);
  };
  const renamed = await home.ask('PATCH', first, { json: { name: 'West' } });
  expect([renamed.status, renamed.json]).toEqual([200, (await home.must('GET', first)).json]);
  expect(await listed()).toEqual([
    `${idIn(first)} West`,
    `${idIn(second)} Nord`,
    `${idIn(third)} Ost`,
  ]);
  const deleted = await home.ask('DELETE', second);
  expect([deleted.status, deleted.text]).toEqual([204, '']);
  expect(await listed()).toEqual([`${idIn(first)} West`, `${idIn(third)} Ost`]);
  // The room itself is missing, and not for example its location.
  for (const [method, json] of [['GET'], ['PATCH', { name: 'x' }], ['DELETE']] as const) {
    const answer = await home.ask(method, second, { json });
    expect([method, answer.outcome]).toEqual([method, `404 ${kind.what}-not-found`]);
  }
});

test.for(KINDS)('a missing $what is 403 to whoever may not see it', async (kind, { home, own }) => {
  const other = await own.homeAt(home.gateway);
  const stranger = other.viewer.token;
  const existing = await created(home, kind);
  for (const path of [existing, `${kind.collection}/${randomUUID()}`]) {
    expect((await home.ask('GET', path, { token: stranger })).outcome).toBe('403 forbidden');
  }
});

test.for(KINDS.filter(({ blockedBy }) => blockedBy !== undefined))(
  'a $what is not deleted while it has $blockedBy',
  async (kind, { home }) => {
    const path = await created(home, kind);
    const [moved = '', deleted = ''] = [
      await kind.put?.(home, idIn(path)),
      await kind.put?.(home, idIn(path)),
    ];
    const blocked = `409 ${kind.what}-has-${kind.blockedBy}`;
    const inOrder = { [kind.blockedBy ?? '']: [moved, deleted].map(idIn) };
    expect((await home.must('GET', path)).json).toMatchObject(inOrder);
    expect((await home.ask('DELETE', path)).outcome).toBe(blocked);
    await kind.takeOut?.(home, moved);
    expect((await home.ask('DELETE', path)).outcome).toBe(blocked);
    await home.must('DELETE', deleted);
    expect((await home.ask('DELETE', path)).outcome).toBe('204');
  },
);

const TAGGED: readonly { readonly what: string; readonly make: (home: Home) => Promise<string> }[] =
  [
    ...KINDS.map((kind) => ({ what: kind.what, make: (home: Home) => created(home, kind) })),
    {
      what: 'custom data',
      make: async (home: Home) => `./devices/${(await home.device()).id}/custom-data`,
    },
  ];
const tagOf = ({ headers }: Answer) => String(headers.etag);

test.for(TAGGED)('$what: not sent again to a client that has it', async (row, { home }) => {
  const path = await row.make(home);
  const tag = tagOf(await home.must('GET', path));
  expect(tag).toMatch(/^"[\w.-]+"$/);
  for (const known of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
    const again = await home.ask('GET', path, { headers: { 'If-None-Match': known } });
    expect([known, again.status, again.text, tagOf(again)]).toEqual([known, 304, '', tag]);
    expect(again.headers['x-request-id']).toBeDefined();
  }
  const changed = await home.must('PATCH', path, { json: { name: 'Changed' } });
  const anew = await home.ask('GET', path, { headers: { 'If-None-Match': tag } });
  expect([anew.status, tagOf(anew)]).toEqual([200, tagOf(changed)]);
  expect(tagOf(anew)).not.toBe(tag);
});

/** Header fields with which nothing is changed, for a resource with this entity tag (RFC 9110, 13.1). */
function unmetBy(tag: string): Record<string, string>[] {
  const seen = ['"other"', `W/${tag}`, tag.slice(1, -1), ''];
  const unwanted = [tag, `W/${tag}`, `"other", ${tag}`, '*'];
  return [
    ...seen.map((value) => ({ 'If-Match': value })),
    ...unwanted.map((value) => ({ 'If-None-Match': value })),
  ];
}

test.for(TAGGED)('$what: changed only in the state that the client saw', async (row, { home }) => {
  const path = await row.make(home);
  const before = await home.must('GET', path);
  const tag = tagOf(before);
  const change = (name: string, headers: Record<string, string>) =>
    home.ask('PATCH', path, { json: { name }, headers });
  const methods = row.what === 'custom data' ? ['PATCH'] : ['PATCH', 'DELETE'];
  for (const headers of unmetBy(tag)) {
    for (const method of methods) {
      const json = method === 'PATCH' ? { name: 'Mine' } : undefined;
      const { outcome } = await home.ask(method, path, { json, headers });
      expect([method, headers, outcome]).toEqual([method, headers, '412 precondition-failed']);
    }
  }
  expect((await home.must('GET', path)).text).toBe(before.text);

  // Two technicians have seen the same version.
  const [mine, yours] = await Promise.all([
    change('Mine', { 'If-Match': tag }),
    change('Yours', { 'If-Match': tag }),
  ]);
  expect([mine.status, yours.status]).toEqual([200, 412]);
  expect((await home.must('GET', path)).text).toContain('Mine');
  const later = [
    { 'If-Match': `"other", ${tagOf(mine)}` },
    { 'If-Match': '*' },
    { 'If-None-Match': '"other"' },
  ];
  for (const [index, headers] of later.entries()) {
    expect((await change(`Mine ${index}`, headers)).outcome).toBe('200');
  }
  if (row.what === 'custom data') return;
  const headers = { 'If-Match': tagOf(await home.must('GET', path)) };
  expect((await home.ask('DELETE', path, { headers })).outcome).toBe('204');
});

test('moves and new secrets are conditional, too', async ({ home, own }) => {
  const other = await own.homeAt(home.gateway);
  const [from, to] = [await home.group(), await home.group()];
  const roomId = await home.room('Zimmer 1', from);
  const { id } = await home.device();
  const [device, room] = [`./devices/${id}`, `./rooms/${roomId}`];
  const changes: readonly [of: string, path: string, json?: object][] = [
    [device, `${device}/move`, { targetRoomId: roomId }],
    [device, `${device}/move`, { targetRoomId: null }],
    [device, `${device}/move`, { targetLocationId: home.locationId }],
    [device, `${device}/secret`],
    [room, `./groups/${from}/rooms/${roomId}/move`, { targetGroupId: to }],
    [device, `${device}/move`, { targetLocationId: other.locationId }],
  ];
  for (const [of, path, json] of changes) {
    const tag = tagOf(await home.must('GET', of));
    for (const headers of [{ 'If-Match': '"other"' }, { 'If-None-Match': tag }]) {
      const { outcome } = await home.ask('POST', path, { json, headers });
      expect([path, json, outcome]).toEqual([path, json, '412 precondition-failed']);
    }
    await home.must('POST', path, { json, headers: { 'If-Match': tag } });
  }
});

test('a device that has connected is still in the state that the client saw', async ({ home }) => {
  const device = await home.device();
  const path = `./devices/${device.id}`;
  const tag = tagOf(await home.must('GET', path));
  await home.client(device);
  const shown = () => home.ask('GET', path, { headers: { 'If-None-Match': tag } });
  await expect.poll(async () => (await shown()).status).toBe(200);
  expect((await shown()).json).toMatchObject({ online: true });
  const options = { json: { name: 'Changed' }, headers: { 'If-Match': tag } };
  expect((await home.ask('PATCH', path, options)).outcome).toBe('200');
});

test('a grant on a group shows and changes the things of the group only', async ({ home }) => {
  const [group, other] = [await home.group('own'), await home.group('other')];
  const [roomId, otherRoom] = [await home.room('in', group), await home.room('out', other)];
  const device = await home.deviceIn(roomId);
  for (const room of [otherRoom, null])
    await home.move(await home.device(), { targetRoomId: room });
  const { token } = await home.token([{ role: 'manager', group }]);
  const location = await home.must('GET', home.path, { token });
  const ids = async (path: string) =>
    (await home.must('GET', path, { token })).list().map(({ id }) => id);
  expect(location.json).toMatchObject({ id: home.locationId, devices: [device.id] });
  expect((await home.must('GET', '/care-homes', { token })).list()).toEqual([location.json]);
  expect([await ids('./groups'), await ids('./rooms'), await ids('./devices')]).toEqual([
    [group],
    [roomId],
    [device.id],
  ]);
  // A change of what it does not cover is no change of what it sees.
  const unchanged = { token, headers: { 'If-None-Match': tagOf(location) } };
  await home.device();
  expect((await home.ask('GET', home.path, unchanged)).status).toBe(304);

  const room = `./rooms/${roomId}`;
  const changes: readonly [method: string, path: string, json: object, outcome: string][] = [
    ['PATCH', `./groups/${group}`, { name: 'x' }, '200'],
    ['PATCH', `./groups/${other}`, { name: 'x' }, '403 forbidden'],
    ['PATCH', `./groups/${FOREIGN}`, { name: 'x' }, '403 forbidden'],
    ['POST', './groups', { name: 'x' }, '403 forbidden'],
    ['POST', './rooms', { name: 'x', groupId: group }, '201'],
    ['POST', './rooms', { name: 'x', groupId: other }, '403 forbidden'],
    ['POST', './rooms', { name: 'x', groupId: null }, '403 forbidden'],
    ['POST', './rooms', { name: 'x' }, '403 forbidden'],
    ['POST', './rooms', { name: 'x', groupId: FOREIGN }, '403 forbidden'],
    ['PATCH', room, { name: 'x' }, '200'],
    ['PATCH', room, { groupId: other }, '403 forbidden'],
    ['PATCH', room, { groupId: FOREIGN }, '403 forbidden'],
    ['PATCH', room, { groupId: null }, '200'],
    ['PATCH', room, { groupId: group }, '403 forbidden'],
  ];
  for (const [method, path, json, expected] of changes) {
    const { outcome } = await home.ask(method, path, { json, token });
    expect([method, path, json, outcome]).toEqual([method, path, json, expected]);
  }
});

test('a location is deleted with its rooms and groups', async ({ home }) => {
  const groupId = await home.group();
  const paths = [
    `./groups/${groupId}`,
    `./rooms/${await home.room('in', groupId)}`,
    `./rooms/${await home.room('out')}`,
  ];
  await home.must('DELETE', home.path);
  for (const path of paths)
    expect((await home.ask('GET', path)).outcome).toBe('404 location-not-found');
});

test('a room is in one group or in none', async ({ home, own }) => {
  const elsewhere = await (await own.homeAt(home.gateway)).group();
  const [one, other] = [await home.group(), await home.group()];
  const body = { name: 'Zimmer 1', groupId: one.toUpperCase() };
  const created = await home.must('POST', './rooms', { json: body });
  expect(created.json).toMatchObject({ groupId: one });
  const room = `./rooms/${created.id}`;
  const changes: readonly [change: object, shown: object | string][] = [
    [{ groupId: other }, { name: 'Zimmer 1', groupId: other }],
    [{ name: 'Bad' }, { name: 'Bad', groupId: other }],
    [
      { name: 'WC', groupId: one },
      { name: 'WC', groupId: one },
    ],
    [{ groupId: one }, { name: 'WC', groupId: one }],
    [{ groupId: elsewhere }, '404 group-not-found'],
    [{ groupId: FOREIGN, name: 'x' }, '404 group-not-found'],
    [{ groupId: null }, { name: 'WC', groupId: null }],
    [{ groupId: null }, { name: 'WC', groupId: null }],
    [{}, '400 invalid-request'],
    [{ groupId: 'x' }, '400 invalid-request'],
    [{ name: null }, '400 invalid-request'],
  ];
  for (const [json, shown] of changes) {
    const answer = await home.ask('PATCH', room, { json });
    const seen = answer.status === 200 ? answer.json : answer.outcome;
    expect([json, seen]).toEqual([
      json,
      typeof shown === 'string' ? shown : expect.objectContaining(shown),
    ]);
  }
  const json = { name: 'x', groupId: elsewhere };
  expect((await home.ask('POST', './rooms', { json })).outcome).toBe('404 group-not-found');
  expect((await home.must('GET', room)).json).toMatchObject({ name: 'WC', groupId: null });
  // Neither group has it any longer.
  for (const id of [one, other]) await home.must('DELETE', `./groups/${id}`);
});

test('a secret is shown once, and replaced at once', async ({ home }) => {
  const created = await home.must('POST', './devices', { json: { name: 'Bett 1' } });
  const secret = created.string('secret');
  expect(secret.length).toBeGreaterThanOrEqual(40);
  const path = `./devices/${created.id}`;
  for (const answer of [await home.must('GET', path), await home.must('GET', './devices')]) {
    expect(answer.text).not.toMatch(/secret/);
  }
  const device = { id: created.id, name: '', locationId: home.locationId, secret };
  const client = await home.client(device);
  const replaced = await home.must('POST', `${path}/secret`);
  expect(Object.keys(Object(replaced.json))).toEqual(['secret']);
  await client.closed();
  await expect(home.client(device)).rejects.toThrow('CONNACK');
  const successor = { ...device, secret: replaced.string('secret') };
  await home.client(successor);
  // The end of the device ends its credential.
  await home.must('DELETE', path);
  await expect(home.client(successor)).rejects.toThrow('CONNACK');
  for (const one of [secret, successor.secret]) {
    expect(home.gateway.lines.filter((line) => line.includes(one))).toEqual([]);
  }
});

test('a device may be created with an id, once on the whole gateway', async ({ home, own }) => {
  const other = await own.homeAt(home.gateway);
  const id = randomUUID();
  const json = { name: 'Bett', id: id.toUpperCase() };
  expect((await home.must('POST', './devices', { json })).id).toBe(id);
  for (const one of [home, other]) {
    expect((await one.ask('POST', './devices', { json })).outcome).toBe('409 device-id-in-use');
  }
  const wrong = await home.ask('POST', './devices', { json: { name: 'Bett', id: '7' } });
  expect(wrong.problem.errors?.map(({ path }) => path)).toEqual(['id']);
  // In either case wherever it is named.
  expect((await home.must('GET', `./devices/${id.toUpperCase()}`)).id).toBe(id);
});

test('a device shows whether it is connected, and when it last was', async ({ home }) => {
  const device = await home.device();
  const shown = async () => (await home.must('GET', `./devices/${device.id}`)).json;
  const client = await home.client(device);
  await expect.poll(shown).toMatchObject({ online: true, lastSeenAt: TIME });
  await client.end();
  await expect.poll(shown).toMatchObject({ online: false, lastSeenAt: TIME });
});
