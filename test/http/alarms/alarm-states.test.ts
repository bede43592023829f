import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { useRedis } from '../../former/servers/shared-redis.js';
import { recordsOf } from '../access/audit-pages.js';
import { failure, problemOf } from '../client.js';
import { useGateway } from '../harness.js';

const running = useGateway(useRedis());
const statesSchema = z.looseObject({ id: z.string(), state: z.string() });
const pageSchema = z.object({ nextCursor: z.string().nullable(), events: z.array(statesSchema) });
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

async function start() {
  const gateway = running();
  const locationId = await gateway.createLocation();
  const deviceId = await gateway.createDevice(locationId);
  const alarms = `/care-homes/${locationId}/alarms`;
  const raise = (of = deviceId) => gateway.recordAlarm(of, { kind: 'fall', id: randomUUID() });
  const give = (
    alarmId: string,
    verb: 'acknowledge' | 'resolve',
    json?: object,
    token?: string,
  ) => {
    const path = `${alarms}/${alarmId}/${verb}`;
    return token === undefined
      ? gateway.admin('POST', path, { json })
      : gateway.call('POST', path, { json, token });
  };
  const list = async (query = '', path = alarms) => {
    const answer = await gateway.admin('GET', `${path}${query}`);
    expect(`${query} ${answer.status}`).toBe(`${query} 200`);
    return pageSchema.parse(answer.json);
  };
  return { gateway, locationId, deviceId, alarms, raise, give, list };
}

it('acknowledges, then resolves, and shows who, when and why', async () => {
  const { gateway, locationId, deviceId, raise, give, list } = await start();
  const grant = { location: locationId, role: 'responder' } as const;
  const { id: tokenId, token } = await gateway.issueToken([grant], 'Nurse');
  const id = await raise();
  const by = { id: tokenId, name: 'Nurse' };
  const acknowledged = await give(id, 'acknowledge', { note: '  on my way ' }, token);
  expect(acknowledged.status).toBe(200);
  const first = {
    id,
    state: 'acknowledged',
    acknowledgedBy: by,
    note: 'on my way',
    acknowledgedAt: expect.stringMatching(TIME),
  };
  expect(acknowledged.json).toEqual(first);
  const resolved = await give(id, 'resolve', undefined, token);
  const both = {
    ...first,
    state: 'resolved',
    resolvedBy: by,
    resolvedAt: expect.stringMatching(TIME),
  };
  expect(resolved.json).toEqual(both);
  const [event] = (await list()).events;
  expect(event).toMatchObject(both);
  const ofDevice = await list('', `/care-homes/${locationId}/devices/${deviceId}/alarms`);
  expect(Object.keys(ofDevice.events[0] ?? {}).sort()).toEqual(
    ['id', 'detectedAt', 'kind', 'footage', 'state'].sort(),
  );
});

it('resolves an unacknowledged alarm, with any body that has no note', async () => {
  const { gateway, alarms, raise } = await start();
  const bodies = [{}, { json: {} }, { json: { note: null } }];
  for (const body of bodies) {
    const id = await raise();
    const answer = await gateway.admin('POST', `${alarms}/${id}/resolve`, body);
    expect(answer.json).toEqual({
      id,
      state: 'resolved',
      resolvedBy: { id: 'admin', name: 'admin' },
      resolvedAt: expect.stringMatching(TIME),
    });
  }
});

it('answers the same when repeated, and leaves one audit record', async () => {
  const { gateway, raise, give } = await start();
  const id = await raise();
  for (const verb of ['acknowledge', 'resolve'] as const) {
    const texts: string[] = [];
    const records = await recordsOf(gateway, async () => {
      for (const note of ['one', 'two', 'three']) {
        const { status, text } = await give(id, verb, { note });
        texts.push(`${status} ${text}`);
      }
    });
    expect(new Set(texts).size).toBe(1);
    expect(records.map(({ action, resourceId }) => [action, resourceId])).toEqual([
      [verb === 'resolve' ? 'alarm.resolved' : 'alarm.acknowledged', id],
    ]);
  }
  expect(failure(await give(id, 'acknowledge'))).toBe('409 alarm-resolved');
});

it('refuses an invalid note', async () => {
  const { raise, give } = await start();
  const id = await raise();
  for (const note of ['', ' \t ', 'a\nb', 'x'.repeat(501), 7, ['x'], '\ud800']) {
    const problem = problemOf(await give(id, 'resolve', { note }));
    expect([problem.status, problem.errors?.map(({ path }) => path)]).toEqual([400, ['note']]);
  }
  expect(failure(await give(id, 'resolve', { notes: 'x' }))).toBe('400 invalid-request');
  expect((await give(id, 'resolve', { note: '👵'.repeat(500) })).status).toBe(200);
});

it('does not find the alarms of other locations', async () => {
  const { gateway, locationId, alarms, raise, give } = await start();
  const elsewhere = await gateway.createLocation();
  const ofOther = await raise(await gateway.createDevice(elsewhere));
  expect(failure(await give(ofOther, 'resolve'))).toBe('404 alarm-not-found');
  expect(failure(await give(randomUUID(), 'acknowledge'))).toBe('404 alarm-not-found');
  expect(failure(await give('nonsense', 'acknowledge'))).toBe('400 invalid-request');
  const gone = `${alarms.replace(locationId, randomUUID())}/${ofOther}/resolve`;
  expect(failure(await gateway.admin('POST', gone))).toBe('404 location-not-found');
});

it('finds an alarm where it was raised, even after its device has moved or been deleted', async () => {
  const { gateway, locationId, deviceId, raise, give } = await start();
  const [before, after] = [await raise(), await raise()];
  const elsewhere = await gateway.createLocation();
  const device = `/care-homes/${locationId}/devices/${deviceId}`;
  await gateway.admin('POST', `${device}/move`, { json: { targetLocationId: elsewhere } });
  expect((await give(before, 'resolve')).status).toBe(200);
  await gateway.admin('DELETE', `/care-homes/${elsewhere}/devices/${deviceId}`);
  expect((await give(after, 'resolve')).status).toBe(200);
});

it('accepts a grant on a group for the alarms raised in that group', async () => {
  const { gateway, locationId, deviceId, raise, give } = await start();
  const outside = await raise();
  const { groupId } = await gateway.placeInGroup(locationId, deviceId);
  const inside = await raise();
  const device = `/care-homes/${locationId}/devices/${deviceId}`;
  await gateway.admin('POST', `${device}/move`, { json: { targetRoomId: null } });
  const token = await gateway.createToken([
    { location: locationId, group: groupId, role: 'responder' },
  ]);
  expect((await give(inside, 'acknowledge', {}, token)).status).toBe(200);
  // An alarm that it does not cover looks like a missing one.
  expect(failure(await give(outside, 'acknowledge', {}, token))).toBe('403 forbidden');
  expect(failure(await give(randomUUID(), 'acknowledge', {}, token))).toBe('403 forbidden');
  const viewer = await gateway.createToken([{ location: locationId, role: 'viewer' }]);
  expect(failure(await give(inside, 'resolve', {}, viewer))).toBe('403 forbidden');
});

it('lists by state, page by page, with a cursor valid for the same states only', async () => {
  const { gateway, locationId, deviceId, alarms, raise, give, list } = await start();
  const ids: string[] = [];
  for (let at = 0; at < 12; at++) ids.push(await raise());
  for (const id of ids.slice(0, 6)) await give(id, 'acknowledge');
  for (const id of ids.slice(3, 9)) await give(id, 'resolve');
  const wanted = new Set([...ids.slice(0, 3), ...ids.slice(9)]);
  for (const path of [alarms, `/care-homes/${locationId}/devices/${deviceId}/alarms`]) {
    const found: string[] = [];
    let page = await list('?state=raised,acknowledged&limit=4', path);
    for (;;) {
      found.push(...page.events.map(({ id }) => id));
      if (page.nextCursor === null) break;
      page = await list(`?state=acknowledged,raised&limit=4&cursor=${page.nextCursor}`, path);
    }
    expect(new Set(found)).toEqual(wanted);
    expect(found).toHaveLength(wanted.size);
  }
  expect((await list('?state=resolved')).events).toHaveLength(6);
  const every = await list('?state=raised,acknowledged,resolved&limit=2');
  expect((await list(`?cursor=${every.nextCursor}`)).events).toHaveLength(10);
  const { nextCursor } = await list('?state=raised&limit=1');
  for (const query of [`cursor=${nextCursor}`, `state=resolved&cursor=${nextCursor}`]) {
    expect(failure(await gateway.admin('GET', `${alarms}?${query}`))).toBe('400 invalid-cursor');
  }
  for (const state of ['', 'open', 'raised,', 'Raised']) {
    const answer = await gateway.admin('GET', `${alarms}?state=${state}`);
    expect(failure(answer)).toBe('400 invalid-request');
  }
});
