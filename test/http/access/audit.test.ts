import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { GATEWAY_ACTOR } from '../../../src/site/audit-trail.js';
import { AuditRecords } from '../../../src/store/audit/records.js';
import { AuditTrailRedis } from '../../../src/store/audit/trail.js';
import { Store } from '../../../src/store/store.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { failure, problemOf } from '../client.js';
import { startGateway, type TestGateway, useGateway } from '../harness.js';
import { page } from './audit-pages.js';

const redis = useRedis();
const running = useGateway(redis);

/** The audit trail in the gateway's store, to write records with any time. */
function trailOf({ redis: connection, storeKeys: keys }: TestGateway): AuditTrailRedis {
  const log = pino({ level: 'silent' });
  const store = new Store(connection);
  return new AuditTrailRedis({ store, keys, records: new AuditRecords(Date.now), log });
}

describe('GET /audit', () => {
  it('is for the administrator only', async () => {
    const gateway = running();
    expect(failure(await gateway.call('GET', '/audit'))).toBe('401 unauthenticated');
    for (const role of ['viewer', 'manager'] as const) {
      const token = await gateway.createToken([{ location: '*', role }]);
      expect(failure(await gateway.call('GET', '/audit', { token }))).toBe('403 forbidden');
      expect(failure(await gateway.call('GET', '/audit?limit=0', { token }))).toBe('403 forbidden');
    }
  });

  it('starts empty, and is not recorded itself', async () => {
    const gateway = await startGateway(redis);
    expect(await page(gateway)).toEqual({ nextCursor: null, events: [] });
    expect(await page(gateway)).toEqual({ nextCursor: null, events: [] });
  });

  it('refuses malformed parameters', async () => {
    const gateway = running();
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
    await trailOf(gateway).record([
      { ...made, actor, atMs: at(1), locationId: first, resourceId: second },
      { ...made, actor: GATEWAY_ACTOR, atMs: at(2), locationId: third, resourceId: second },
      {
        ...made,
        action: 'device.moved',
        actor,
        atMs: at(3),
        locationId: second,
        resourceId: third,
        details: { targetLocationId: third },
      },
    ]);
    const times = async (query: string) =>
      (await page(gateway, query)).events.map((event) => new Date(event.at).getUTCSeconds());
    expect(await times('')).toEqual([3, 2, 1]);
    expect(await times('order=asc')).toEqual([1, 2, 3]);
    expect(await times('after=2026-01-01T01:00:01%2B01:00')).toEqual([3, 2]);
    expect(await times('after=2026-01-01T00:00:01Z&before=2026-01-01T00:00:03Z')).toEqual([2]);
    expect(await times('before=2026-01-01T00:00:02.0001Z&after=2026-01-01T00:00:00.9999Z')).toEqual(
      [2, 1],
    );
    expect(await times('after=2026-01-01T00:00:01.0001Z')).toEqual([3, 2]);
    expect(await times('actions=device.moved,footage.url-made')).toEqual([3, 2, 1]);
    expect(await times('actions=device.moved')).toEqual([3]);
    expect(await times(`location=${third}`)).toEqual([3, 2]);
    expect(await times(`location=${third.toUpperCase()}&actor=${first}`)).toEqual([3]);
    expect(await times(`actor=${first}`)).toEqual([3, 1]);
    expect(await times(`resource=${second}`)).toEqual([2, 1]);
    expect(await times(`resource=${first}`)).toEqual([]);
  });

  it('continues with a cursor, for the same query only', async () => {
    const gateway = await startGateway(redis);
    for (let index = 0; index < 5; index++) await gateway.createLocation(String(index));
    const query = 'actions=location.created&order=asc';
    const names: unknown[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const part = await page(gateway, `${query}&limit=2${cursor ? `&cursor=${cursor}` : ''}`);
      names.push(...part.events.map(({ details }) => details['name']));
      cursor = part.nextCursor;
      // Records written meanwhile are not in the later pages.
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
});

describe('the names in the audit trail', () => {
  it('are the current ones, and null for whatever no longer exists', async () => {
    const gateway = await startGateway(redis);
    const home = await gateway.createLocation('Birke');
    const { token, id } = await gateway.issueToken([{ location: home, role: 'manager' }], 'Anna');
    const path = `/care-homes/${home}/rooms`;
    const json = { name: 'Room 7' };
    const room = await gateway.call('POST', path, { token, json });
    await gateway.call('DELETE', String(room.headers.location), { token });
    await gateway.admin('PATCH', `/care-homes/${home}`, { json: { name: 'Elm' } });
    await gateway.admin('PATCH', `/access-tokens/${id}`, { json: { name: 'Anna B.' } });
    const query = 'actions=room.created,location.changed&order=asc';
    const { json: body } = await gateway.admin('GET', `/audit?${query}`);
    expect(body).toMatchObject({
      events: [
        { actor: { id, name: 'Anna B.' }, locationName: 'Elm', resourceName: null },
        { actor: { id: 'admin', name: 'admin' }, locationName: 'Elm', resourceName: 'Elm' },
      ],
    });
  });

  it('are in its CSV, which has all pages and nothing a spreadsheet would run', async () => {
    const gateway = await startGateway(redis);
    for (let index = 0; index < 120; index++) await gateway.createLocation(`=${index}`);
    const query = '/audit?actions=location.created&order=asc&limit=7';
    const csv = await gateway.admin('GET', query, { headers: { Accept: 'text/csv' } });
    expect(csv.headers['content-type']).toBe('text/csv; charset=utf-8; header=present');
    const [header, ...lines] = csv.text.trimEnd().split('\r\n');
    expect(header).toBe(
      'id,at,action,actorType,actorId,actorName,address,requestId,locationId,locationName,resourceId,resourceName,details',
    );
    expect(lines).toHaveLength(120);
    expect(lines[7]).toMatch(
      /,location\.created,access-token,admin,admin,127\.0\.0\.1,[^,]+,[^,]+,'=7,[^,]+,'=7,"\{""name"":""=7""\}"$/,
    );
  });
});
