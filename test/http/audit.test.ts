import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { GATEWAY_ACTOR } from '../../src/site/audit-trail.js';
import { type Answer, failure, problemOf } from './client.js';
import { ADMIN_TOKEN, startGateway, type TestGateway, useRedis } from './harness.js';
import { fill, protectedRoutesOf } from './routes.js';

const redis = useRedis();

const eventSchema = z.strictObject({
  id: z.string().regex(/^[1-9]\d*$/),
  at: z.iso.datetime({ precision: 3 }),
  action: z.string(),
  actor: z.strictObject({
    type: z.string(),
    id: z.string().nullable(),
    address: z.string().nullable(),
    requestId: z.string().nullable(),
  }),
  locationId: z.string().nullable(),
  resourceId: z.string().nullable(),
  details: z.record(z.string(), z.string().nullable()),
});
const pageSchema = z.strictObject({
  nextCursor: z.string().nullable(),
  events: z.array(eventSchema),
});
type Event = z.infer<typeof eventSchema>;

async function page(gateway: TestGateway, query = '') {
  const answer = await gateway.admin('GET', `/audit?${query}`);
  expect(`${query} ${answer.status}`).toBe(`${query} 200`);
  return pageSchema.parse(answer.json);
}

/** What was written down while this was done. */
async function recordsOf(gateway: TestGateway, work: () => Promise<unknown>): Promise<Event[]> {
  const before = await gateway.recordCount();
  await work();
  const { events } = await page(gateway);
  return events.filter(({ id }) => Number(id) > before);
}

async function world(gateway: TestGateway) {
  const locationId = await gateway.createLocation('Haus Birke');
  const deviceId = await gateway.createDevice(locationId, 'Bett 1');
  const { groupId, roomId } = await gateway.placeInGroup(locationId, deviceId);
  const emptyRoomId = await gateway.createRoom(locationId, groupId);
  const otherGroupId = await gateway.createGroup(locationId, 'Station 2');
  const otherLocationId = await gateway.createLocation('Haus Eiche');
  const grants = [{ location: '*', role: 'viewer' } as const];
  await gateway.createToken(grants, 'nurse call');
  const tokenId = gateway.model.accessTokens().at(-1)?.id ?? '';
  return {
    ...{
      locationId,
      deviceId,
      groupId,
      roomId,
      emptyRoomId,
      otherGroupId,
      otherLocationId,
      tokenId,
    },
  };
}
type World = Awaited<ReturnType<typeof world>>;

interface Change {
  readonly ids?: (world: World) => Readonly<Record<string, string>>;
  readonly json?: (world: World) => object;
  readonly action: string;
  /** Of what is created, the id in the answer. */
  readonly resource: keyof World | 'created';
  readonly location?: 'created' | 'none';
  readonly details: (world: World) => Event['details'];
}

const LATER = '2100-01-01T00:00:00.000Z';
const VIEWER = '[{"location":"*","role":"viewer"}]';

/** Every route that changes something. One that is missing here fails the test. */
const CHANGES: Readonly<Record<string, readonly Change[]>> = {
  'POST /care-homes': [
    {
      json: () => ({ name: ' Haus Linde ' }),
      ...{ action: 'location.created', resource: 'created', location: 'created' },
      details: () => ({ name: 'Haus Linde' }),
    },
  ],
  'PATCH /care-homes/:locationId': [
    {
      json: () => ({ name: 'Haus Linde' }),
      ...{ action: 'location.changed', resource: 'locationId' },
      details: () => ({ name: 'Haus Linde', previousName: 'Haus Birke' }),
    },
  ],
  'DELETE /care-homes/:locationId': [
    {
      ids: ({ otherLocationId }) => ({ locationId: otherLocationId }),
      ...{ action: 'location.deleted', resource: 'otherLocationId' },
      details: () => ({ name: 'Haus Eiche' }),
    },
  ],
  'POST /care-homes/:locationId/groups': [
    {
      json: () => ({ name: 'Station 3' }),
      ...{ action: 'group.created', resource: 'created' },
      details: () => ({ name: 'Station 3' }),
    },
  ],
  'PATCH /care-homes/:locationId/groups/:groupId': [
    {
      json: () => ({ name: 'Station 3' }),
      ...{ action: 'group.changed', resource: 'groupId' },
      details: () => ({ name: 'Station 3', previousName: 'Station 1' }),
    },
  ],
  'DELETE /care-homes/:locationId/groups/:groupId': [
    {
      ids: ({ otherGroupId }) => ({ groupId: otherGroupId }),
      ...{ action: 'group.deleted', resource: 'otherGroupId' },
      details: () => ({ name: 'Station 2' }),
    },
  ],
  'POST /care-homes/:locationId/groups/:groupId/rooms/:roomId/move': [
    {
      json: ({ otherGroupId }) => ({ targetGroupId: otherGroupId }),
      ...{ action: 'room.moved', resource: 'roomId' },
      details: ({ groupId, otherGroupId }) => ({ groupId: otherGroupId, previousGroupId: groupId }),
    },
  ],
  'POST /care-homes/:locationId/rooms': [
    {
      json: ({ groupId }) => ({ name: 'Zimmer 2', groupId }),
      ...{ action: 'room.created', resource: 'created' },
      details: ({ groupId }) => ({ name: 'Zimmer 2', groupId }),
    },
  ],
  'PATCH /care-homes/:locationId/rooms/:roomId': [
    {
      json: () => ({ name: 'Zimmer 2' }),
      ...{ action: 'room.changed', resource: 'roomId' },
      details: () => ({ name: 'Zimmer 2', previousName: 'Zimmer 1' }),
    },
    {
      json: () => ({ groupId: null }),
      ...{ action: 'room.changed', resource: 'roomId' },
      details: ({ groupId }) => ({ groupId: null, previousGroupId: groupId }),
    },
  ],
  'DELETE /care-homes/:locationId/rooms/:roomId': [
    {
      ids: ({ emptyRoomId }) => ({ roomId: emptyRoomId }),
      ...{ action: 'room.deleted', resource: 'emptyRoomId' },
      details: ({ groupId }) => ({ name: 'Zimmer 1', groupId }),
    },
  ],
  'POST /care-homes/:locationId/devices': [
    {
      json: () => ({ name: 'Bett 2' }),
      ...{ action: 'device.created', resource: 'created' },
      details: () => ({ name: 'Bett 2' }),
    },
  ],
  'PATCH /care-homes/:locationId/devices/:deviceId': [
    {
      json: () => ({ name: 'Bett 2' }),
      ...{ action: 'device.changed', resource: 'deviceId' },
      details: () => ({ name: 'Bett 2', previousName: 'Bett 1' }),
    },
  ],
  'DELETE /care-homes/:locationId/devices/:deviceId': [
    {
      ...{ action: 'device.deleted', resource: 'deviceId' },
      details: ({ roomId }) => ({ name: 'Bett 1', roomId }),
    },
  ],
  'POST /care-homes/:locationId/devices/:deviceId/secret': [
    { action: 'device.secret-replaced', resource: 'deviceId', details: () => ({}) },
  ],
  'POST /care-homes/:locationId/devices/:deviceId/move': [
    {
      json: ({ emptyRoomId }) => ({ targetRoomId: emptyRoomId }),
      ...{ action: 'device.moved', resource: 'deviceId' },
      details: ({ roomId, emptyRoomId, locationId }) => ({
        ...{ targetLocationId: locationId, targetRoomId: emptyRoomId, previousRoomId: roomId },
      }),
    },
    {
      json: ({ otherLocationId }) => ({ targetLocationId: otherLocationId }),
      ...{ action: 'device.moved', resource: 'deviceId' },
      details: ({ roomId, otherLocationId }) => ({
        ...{ targetLocationId: otherLocationId, targetRoomId: null, previousRoomId: roomId },
      }),
    },
  ],
  'PATCH /care-homes/:locationId/devices/:deviceId/custom-data': [
    {
      json: () => ({ patient: 'Frau Krause' }),
      ...{ action: 'custom-data.changed', resource: 'deviceId' },
      details: () => ({ mode: 'replace' }),
    },
  ],
  'POST /access-tokens': [
    {
      json: () => ({ name: 'bridge', grants: JSON.parse(VIEWER), expiresAt: LATER }),
      ...{ action: 'access-token.created', resource: 'created', location: 'none' },
      details: () => ({ name: 'bridge', grants: VIEWER, expiresAt: LATER }),
    },
  ],
  'DELETE /access-tokens/:tokenId': [
    {
      ...{ action: 'access-token.deleted', resource: 'tokenId', location: 'none' },
      details: () => ({ name: 'nurse call' }),
    },
  ],
};

function createdId(answer: Answer): string {
  return answer.text === '' ? '' : z.looseObject({ id: z.string() }).parse(answer.json).id;
}

function expected(change: Change, ids: World, path: string, answer: Answer) {
  const resourceId = change.resource === 'created' ? createdId(answer) : ids[change.resource];
  const inPath = path.split('/')[2] ?? null;
  return {
    action: change.action,
    actor: {
      ...{ type: 'access-token', id: 'admin', address: '127.0.0.1' },
      requestId: answer.headers['x-request-id'],
    },
    locationId: { created: resourceId, none: null, path: inPath }[change.location ?? 'path'],
    resourceId,
    details: change.details(ids),
  };
}

describe('every route that changes something', () => {
  it('leaves one record: what, by whom, from where, under which request id', async () => {
    const gateway = await startGateway(redis);
    for (const { method, path } of protectedRoutesOf(gateway.app)) {
      if (method === 'GET') continue;
      const changes = CHANGES[`${method} ${path}`];
      if (changes === undefined) throw new Error(`What does ${method} ${path} leave?`);
      for (const change of changes) {
        const ids = await world(gateway);
        const target = fill(path, { ...ids, ...change.ids?.(ids) });
        const json = change.json?.(ids);
        const answers: Answer[] = [];
        const records = await recordsOf(gateway, async () => {
          const headers = { 'X-Request-Id': `change-${randomUUID()}` };
          answers.push(await gateway.admin(method, target, { json, headers }));
        });
        const [answer] = answers;
        if (answer === undefined) throw new Error('No answer');
        expect(`${method} ${path} ${answer.status < 300}`).toBe(`${method} ${path} true`);
        const { id: _, at, ...rest } = records[0] ?? { id: '', at: '' };
        expect(records.length).toBe(1);
        expect(rest).toEqual(expected(change, ids, target, answer));
        expect(Math.abs(Date.parse(at) - Date.now())).toBeLessThan(10_000);
        expect(JSON.stringify(records)).not.toContain('Krause');
        for (const secret of secretsIn(answer)) {
          expect(JSON.stringify(records)).not.toContain(secret);
        }
      }
    }
  });

  it('leaves none when it fails, or when nothing is changed', async () => {
    const gateway = await startGateway(redis);
    const ids = await world(gateway);
    const home = `/care-homes/${ids.locationId}`;
    const device = `${home}/devices/${ids.deviceId}`;
    const failing: [string, string, object | undefined, number][] = [
      ['DELETE', home, undefined, 409],
      ['DELETE', `${home}/rooms/${ids.roomId}`, undefined, 409],
      ['DELETE', `${home}/groups/${ids.groupId}`, undefined, 409],
      ['POST', `${home}/devices`, { name: 'twice', id: ids.deviceId }, 409],
      ['POST', `${home}/rooms`, { name: 'r', groupId: randomUUID() }, 404],
      ['POST', `${device}/move`, { targetRoomId: randomUUID() }, 404],
      ['POST', `${device}/move`, { targetLocationId: ids.locationId }, 204],
      ['PATCH', home, { name: '' }, 400],
      ['DELETE', `/access-tokens/${randomUUID()}`, undefined, 404],
    ];
    for (const [method, path, json, status] of failing) {
      const records = await recordsOf(gateway, async () => {
        expect((await gateway.admin(method, path, { json })).status).toBe(status);
      });
      expect([path, records]).toEqual([path, []]);
    }
  });

  it('tells the name that was there, also of two changes at the same moment', async () => {
    const gateway = await startGateway(redis);
    const locationId = await gateway.createLocation('0');
    const names = Array.from({ length: 20 }, (_, index) => String(index + 1));
    const records = await recordsOf(gateway, () =>
      Promise.all(
        names.map((name) =>
          gateway.admin('PATCH', `/care-homes/${locationId}`, { json: { name } }),
        ),
      ),
    );
    const followed = records
      .toSorted((one, other) => Number(one.id) - Number(other.id))
      .map(({ details }) => details);
    let current: string | null | undefined = '0';
    for (const { name, previousName } of followed) {
      expect(previousName).toBe(current);
      current = name;
    }
    expect(followed.length).toBe(20);
  });
});

/** Whatever of an answer is shown this once. */
function secretsIn({ text }: Answer): string[] {
  const shown = z.looseObject({ secret: z.string().optional(), token: z.string().optional() });
  const parsed = text.startsWith('{') ? shown.parse(JSON.parse(text)) : {};
  return [parsed.secret, parsed.token].filter((secret) => secret !== undefined);
}

describe('every refused permission', () => {
  it('leaves a record, whichever the route', async () => {
    const gateway = await startGateway(redis);
    const { locationId, deviceId } = await world(gateway);
    const token = await gateway.createToken([{ location: randomUUID(), role: 'viewer' }]);
    const id = gateway.model.accessTokens().at(-1)?.id;
    for (const { method, path } of protectedRoutesOf(gateway.app)) {
      const target = fill(path, { locationId, deviceId });
      const answers: Answer[] = [];
      const before = await gateway.recordCount();
      answers.push(await gateway.call(method, `${target}?secret=x`, { token }));
      const [answer] = answers;
      if (answer?.status !== 403) continue;
      await expect.poll(() => gateway.recordCount()).toBe(before + 1);
      const { events } = await page(gateway, 'limit=1');
      expect(events[0]).toMatchObject({
        action: 'permission.refused',
        actor: {
          ...{ type: 'access-token', id, address: '127.0.0.1' },
          requestId: answer.headers['x-request-id'],
        },
        locationId: path.includes(':locationId') ? locationId : null,
        details: { method, path: target },
      });
    }
  });

  it('leaves one also where the handler refuses', async () => {
    const gateway = await startGateway(redis);
    const { locationId, deviceId, otherLocationId } = await world(gateway);
    const token = await gateway.createToken([{ location: locationId, role: 'manager' }]);
    const path = `/care-homes/${locationId}/devices/${deviceId}/move`;
    const json = { targetLocationId: otherLocationId };
    const before = await gateway.recordCount();
    expect((await gateway.call('POST', path, { token, json })).status).toBe(403);
    await expect.poll(() => gateway.recordCount()).toBe(before + 1);
    const { events } = await page(gateway, `actions=permission.refused&resource=${deviceId}`);
    expect(events.map(({ details }) => details)).toEqual([{ method: 'POST', path }]);
  });

  it('leaves one also at the metrics, which are open to others', async () => {
    const gateway = await startGateway(redis, { isTrustedAddress: () => false });
    const token = await gateway.createToken([{ location: '*', role: 'manager' }]);
    const before = await gateway.recordCount();
    expect((await gateway.call('GET', '/metrics', { token })).status).toBe(403);
    await expect.poll(() => gateway.recordCount()).toBe(before + 1);
  });

  it('is answered all the same when the store is away, and the log says what is lost', async () => {
    const gateway = await startGateway(redis);
    const token = await gateway.createToken([{ location: randomUUID(), role: 'viewer' }]);
    gateway.loseStore();
    expect(failure(await gateway.call('GET', '/access-tokens', { token }))).toBe('403 forbidden');
    await gateway.stop();
    expect(gateway.logged.join('')).toContain('audit entries are lost');
  });
});

describe('an access token that is not valid', () => {
  it('leaves a record without the token, and one that is missing leaves none', async () => {
    const gateway = await startGateway(redis);
    const before = await gateway.recordCount();
    expect((await gateway.call('GET', '/care-homes')).status).toBe(401);
    expect((await gateway.call('GET', '/care-homes', { token: 'guessed-token' })).status).toBe(401);
    await expect.poll(() => gateway.recordCount()).toBe(before + 1);
    const { events } = await page(gateway);
    expect(events[0]).toMatchObject({
      action: 'authentication.refused',
      actor: { type: 'anonymous', id: null, address: '127.0.0.1' },
      details: { method: 'GET', path: '/care-homes' },
    });
    expect(JSON.stringify(events)).not.toContain('guessed-token');
  });
});

describe('GET /audit', () => {
  it('is for the administrator', async () => {
    const gateway = await startGateway(redis);
    expect(failure(await gateway.call('GET', '/audit'))).toBe('401 unauthenticated');
    for (const role of ['viewer', 'manager'] as const) {
      const token = await gateway.createToken([{ location: '*', role }]);
      expect(failure(await gateway.call('GET', '/audit', { token }))).toBe('403 forbidden');
      expect(failure(await gateway.call('GET', '/audit?limit=0', { token }))).toBe('403 forbidden');
    }
  });

  it('begins empty, and is itself not written down', async () => {
    const gateway = await startGateway(redis);
    expect(await page(gateway)).toEqual({ nextCursor: null, events: [] });
    expect(await page(gateway)).toEqual({ nextCursor: null, events: [] });
  });

  it('refuses parameters that are not what they should be', async () => {
    const gateway = await startGateway(redis);
    const invalid: [string, string][] = [
      ['limit=0', 'limit'],
      ['limit=101', 'limit'],
      ['limit=1.5', 'limit'],
      ['limit=', 'limit'],
      ['limit=5&limit=6', 'limit'],
      ['order=up', 'order'],
      ['before=yesterday', 'before'],
      ['after=2026-01-01T00:00:00', 'after'],
      ['actions=', 'actions.0'],
      ['actions=room.created,room.painted', 'actions.1'],
      ['location=nowhere', 'location'],
      ['actor=%20', 'actor'],
      ['resource=a/b', 'resource'],
    ];
    for (const [query, path] of invalid) {
      const problem = problemOf(await gateway.admin('GET', `/audit?${query}`));
      expect([query, problem.status, problem.code]).toEqual([query, 400, 'invalid-request']);
      expect([query, problem.errors?.[0]?.path]).toEqual([query, path]);
    }
    for (const cursor of ['', 'x', 'AAAA']) {
      const answer = await gateway.admin('GET', `/audit?cursor=${cursor}`);
      expect(failure(answer)).toBe('400 invalid-cursor');
    }
  });

  it('is filtered by time, action, location, actor and resource', async () => {
    const gateway = await startGateway(redis);
    const at = (second: number) => Date.UTC(2026, 0, 1, 0, 0, second);
    const [first, second, third] = [randomUUID(), randomUUID(), randomUUID()];
    const actor = { type: 'device', id: first, address: '192.0.2.7', requestId: null } as const;
    const made = { action: 'footage.url-made', details: { key: 'a/b' } } as const;
    await gateway.audit.record([
      { ...made, actor, atMs: at(1), locationId: first, resourceId: second },
      { ...made, actor: GATEWAY_ACTOR, atMs: at(2), locationId: third, resourceId: second },
      {
        ...{ ...made, action: 'device.moved', actor, atMs: at(3), locationId: second },
        ...{ resourceId: third, details: { targetLocationId: third } },
      },
    ]);
    const times = async (query: string) =>
      (await page(gateway, query)).events.map((event) => new Date(event.at).getUTCSeconds());
    expect(await times('')).toEqual([3, 2, 1]);
    expect(await times('order=asc')).toEqual([1, 2, 3]);
    expect(await times('after=2026-01-01T01:00:01%2B01:00')).toEqual([3, 2]);
    expect(await times('after=2026-01-01T00:00:01Z&before=2026-01-01T00:00:03Z')).toEqual([2]);
    expect(await times('actions=device.moved,footage.url-made')).toEqual([3, 2, 1]);
    expect(await times('actions=device.moved')).toEqual([3]);
    expect(await times(`location=${third}`)).toEqual([3, 2]);
    expect(await times(`location=${third.toUpperCase()}&actor=${first}`)).toEqual([3]);
    expect(await times(`actor=${first}`)).toEqual([3, 1]);
    expect(await times(`resource=${second}`)).toEqual([2, 1]);
    expect(await times(`resource=${first}`)).toEqual([]);
  });

  it('goes on with its cursor, only for the same query, only where it is asked as it was', async () => {
    const gateway = await startGateway(redis);
    for (let index = 0; index < 5; index++) await gateway.createLocation(String(index));
    const query = 'actions=location.created&order=asc';
    const names: unknown[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const part = await page(gateway, `${query}&limit=2${cursor ? `&cursor=${cursor}` : ''}`);
      names.push(...part.events.map(({ details }) => details['name']));
      cursor = part.nextCursor;
      // What comes meanwhile is not in the later pages.
      await gateway.createLocation('late');
    }
    expect(names).toEqual(['0', '1', '2', '3', '4']);

    const { nextCursor } = await page(gateway, `${query}&limit=2`);
    const cursor = nextCursor ?? '';
    const other = `actions=location.created,location.deleted&order=asc&cursor=${cursor}`;
    const foreign = [
      other,
      `order=asc&cursor=${cursor}`,
      `actions=location.created&cursor=${cursor}`,
      `${query}&after=2020-01-01T00:00:00Z&cursor=${cursor}`,
      `${query}&before=2100-01-01T00:00:00Z&cursor=${cursor}`,
      `${query}&location=${randomUUID()}&cursor=${cursor}`,
      `${query}&actor=admin&cursor=${cursor}`,
      `${query}&resource=${randomUUID()}&cursor=${cursor}`,
      `${query}&cursor=${cursor.slice(0, -1)}${cursor.endsWith('A') ? 'B' : 'A'}`,
    ];
    for (const asked of foreign) {
      const answer = await gateway.admin('GET', `/audit?${asked}`);
      expect([asked, failure(answer)]).toEqual([asked, '400 invalid-cursor']);
    }
    const location = await gateway.createLocation();
    const alarms = await gateway.admin('GET', `/care-homes/${location}/alarms?cursor=${cursor}`);
    expect(failure(alarms)).toBe('400 invalid-cursor');
    expect((await page(gateway, `${query}&limit=1&cursor=${cursor}`)).events.length).toBe(1);
  });

  it('is 503 when the store is away', async () => {
    const gateway = await startGateway(redis);
    gateway.loseStore();
    const answer = await gateway.call('GET', '/audit', { token: ADMIN_TOKEN });
    expect(failure(answer)).toBe('503 store-unavailable');
  });
});
