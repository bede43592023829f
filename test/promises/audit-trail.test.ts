/**
 * The audit trail as the administrator reads it (contract 2): filters, pages, names, CSV, and what stays
 * in it over time, restarts and kills.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ask, expect, type Home, test, times } from '../harness/index.js';

const DAY_MS = 86_400_000;
const NEW = { name: 'Neu' };

/** The records that match, oldest first. */
async function recordsOf(home: Home, query: string) {
  return (await home.must('GET', `/audit?order=asc&limit=100&${query}`)).list('events');
}

const MALFORMED: readonly (readonly [query: string, parameter: string])[] = [
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

test('malformed parameters are refused, each by its name', async ({ home }) => {
  for (const [query, parameter] of MALFORMED) {
    const { outcome, problem } = await home.ask('GET', `/audit?${query}`);
    const found = [query, outcome, problem.errors?.[0]?.path];
    expect(found).toEqual([query, '400 invalid-request', parameter]);
  }
});

test('the trail is filtered by time, action, location, actor and resource', async ({ own }) => {
  const gateway = await own.gateway({ hasStoppedClock: true });
  const [home, other] = [await own.homeAt(gateway), await own.homeAt(gateway)];
  const anna = await home.token([{ location: '*', role: 'admin' }]);
  const begin = `after=${new Date(gateway.clock.now()).toISOString()}`;
  const later = () => gateway.clock.advance(1_000);
  await later();
  const device = await home.device();
  await later();
  const targetLocationId = other.locationId;
  await home.must('POST', `./devices/${device.id}/move`, { ...anna, json: { targetLocationId } });
  await later();
  await other.must('DELETE', `./devices/${device.id}`, anna);
  await later();
  await other.must('PATCH', other.path, { json: NEW });
  const numbers = new Map((await recordsOf(home, begin)).map(({ id }, index) => [id, index + 1]));
  const found = async (query: string) => {
    const { events = [] } = Object((await home.must('GET', `/audit?${begin}&${query}`)).json);
    return events.map(({ id }: { id: string }) => numbers.get(id));
  };
  const [, second, third, fourth] = (await recordsOf(home, begin)).map(({ at }) => String(at));
  const cases: readonly (readonly [query: string, numbers: number[]])[] = [
    ['', [4, 3, 2, 1]],
    ['order=asc', [1, 2, 3, 4]],
    [`order=asc&after=${second}`, [3, 4]],
    [`after=${second}&before=${fourth}`, [3]],
    [`after=${String(second).replace('Z', '001Z')}`, [4, 3]],
    [`before=${String(third).replace('Z', '%2B00:00')}`, [2, 1]],
    ['actions=device.moved,device.deleted', [3, 2]],
    ['actions=location.changed', [4]],
    [`location=${home.locationId}`, [2, 1]],
    // Where a device was moved to, too.
    [`location=${other.locationId.toUpperCase()}`, [4, 3, 2]],
    [`location=${other.locationId}&actor=${anna.id}`, [3, 2]],
    [`actor=${anna.id}`, [3, 2]],
    [`resource=${device.id}`, [3, 2, 1]],
    [`resource=${anna.id}`, []],
  ];
  for (const [query, expected] of cases) {
    // The last of two equal parameters would be refused.
    const asked = query.includes('after=') ? query : `${begin}&${query}`;
    const { events = [] } = Object((await home.must('GET', `/audit?${asked}`)).json);
    expect([query, events.map(({ id }: { id: string }) => numbers.get(id))]).toEqual([
      query,
      expected,
    ]);
  }
  expect(await found('limit=1')).toEqual([4]);
});

test('a cursor leads through what was there at the first page, once, for the same query only', async ({
  home,
}) => {
  const { id: actor, token } = await home.token('manager');
  const create = (name: string) => home.must('POST', './rooms', { token, json: { name } });
  const names = Array.from({ length: 7 }, (_, index) => `room ${index}`);
  for (const name of names) {
    await create(name);
    // Denials are kept apart, and shown in between.
    if (name === 'room 3') await home.ask('POST', './rooms', { ...home.viewer, json: NEW });
  }
  const mine = `location=${home.locationId}&actions=room.created,permission.refused`;
  await expect.poll(async () => (await recordsOf(home, mine)).length).toBe(names.length + 1);
  // What lies ahead is empty, and to read the trail leaves nothing in it.
  const none = await home.must('GET', `/audit?${mine}&after=2100-01-01T00:00:00Z`);
  expect(none.json).toEqual({ nextCursor: null, events: [] });
  expect(await recordsOf(home, mine)).toHaveLength(names.length + 1);
  for (const order of ['asc', 'desc']) {
    const query = `${mine}&order=${order}`;
    const expected = (await recordsOf(home, mine)).map(({ id }) => id);
    const seen: unknown[] = [];
    for (let cursor: unknown = ''; cursor !== null; ) {
      const next = cursor === '' ? '' : `&cursor=${String(cursor)}`;
      const page = await home.must('GET', `/audit?${query}&limit=3${next}`);
      seen.push(...page.list('events').map(({ id }) => id));
      cursor = page.at('nextCursor');
      await create('late');
    }
    expect([order, seen]).toEqual([order, order === 'asc' ? expected : expected.toReversed()]);
  }
  const query = `${mine}&order=asc`;
  const { nextCursor: cursor } = Object((await home.must('GET', `/audit?${query}&limit=2`)).json);
  const foreign = [
    `${query}&actor=${actor}`,
    `${query}&resource=${actor}`,
    `${query}&after=2020-01-01T00:00:00Z`,
    `${query}&before=2100-01-01T00:00:00Z`,
    `${mine}&order=desc`,
    'order=asc',
    query.replace(',permission.refused', ''),
    query.replace(home.locationId, actor),
  ];
  for (const asked of foreign) {
    const answer = await home.ask('GET', `/audit?${asked}&cursor=${cursor}`);
    expect([asked, answer.outcome]).toEqual([asked, '400 invalid-cursor']);
  }
  const forged = `${cursor.slice(0, -1)}${cursor.endsWith('A') ? 'B' : 'A'}`;
  for (const path of [
    `/audit?${query}&cursor=${forged}`,
    '/audit?cursor=',
    '/audit?cursor=AAAA',
    `${home.path}/alarms?cursor=${cursor}`,
  ]) {
    expect([path, (await home.ask('GET', path)).outcome]).toEqual([path, '400 invalid-cursor']);
  }
  const last = await home.must('GET', `/audit?${query}&limit=1&cursor=${cursor}`);
  expect(last.list('events')).toHaveLength(1);
});

test('names are the current ones, and null for what no longer exists', async ({ home }) => {
  const { id, token } = await home.token('manager', 'Anna');
  const room = await home.must('POST', './rooms', { token, json: { name: 'Zimmer 7' } });
  await home.must('DELETE', String(room.headers.location), { token });
  const name = 'Haus "Ulme" \\ ]} \u2028\u{1F480} Größe';
  await home.must('PATCH', home.path, { json: { name } });
  await home.must('PATCH', `/access-tokens/${id}`, { json: { name: 'Anna B.' } });
  const place = { locationName: name };
  const query = `location=${home.locationId}&actions=room.created,location.changed`;
  expect(await recordsOf(home, query)).toMatchObject([
    { ...place, actor: { id, name: 'Anna B.' }, resourceName: null },
    { ...place, actor: { id: 'admin', name: 'admin' }, resourceName: name, details: { name } },
  ]);
});

test('as CSV it has all pages, and nothing that a spreadsheet would run', async ({ home }) => {
  await times(120, (index) => home.must('POST', './groups', { json: { name: `=${index}` } }));
  const query = `/audit?location=${home.locationId}&actions=group.created&order=asc&limit=7`;
  const csv = await home.must('GET', query, { headers: { Accept: 'text/csv' } });
  expect(csv.headers['content-type']).toBe('text/csv; charset=utf-8; header=present');
  const [header, ...lines] = csv.text.trimEnd().split('\r\n');
  expect(header).toBe(
    'id,at,action,actorType,actorId,actorName,address,requestId,locationId,locationName,resourceId,resourceName,details',
  );
  expect(lines).toHaveLength(120);
  expect(
    lines.filter((line) => /,group\.created,.+,'=7,"\{""name"":""=7""\}"$/.test(line)),
  ).toHaveLength(1);
});

test('records are removed when they are too old by a clock that does not jump', async ({ own }) => {
  const env = { GATEWAY_AUDIT_RETENTION_DAYS: '10' };
  const home = await own.home({ isHurried: true, env });
  const { clock } = home.gateway;
  const last = async () => Number((await recordsOf(home, '')).at(-1)?.['id']);
  await home.ask('GET', '/audit', { token: 'nobody' });
  await expect.poll(async () => (await recordsOf(home, '')).length).toBe(4);
  const before = await last();
  // Somebody sets the clock: nothing has become older.
  await clock.jump(30 * DAY_MS);
  await clock.advance(6 * DAY_MS);
  await home.room();
  const kept = async () => (await recordsOf(home, '')).map(({ action }) => action);
  // It looks for them at the start, and every hour.
  await home.gateway.restart();
  expect(await kept()).toHaveLength(5);
  await clock.advance(5 * DAY_MS);
  await home.gateway.restart();
  await expect.poll(kept).toEqual(['room.created']);
  // A number is not given again.
  expect(await last()).toBe(before + 1);
});

test('the first administrator’s token is recorded once', async ({ own }) => {
  const gateway = await own.gateway({ env: { GATEWAY_ADMIN_TOKEN: undefined } });
  await gateway.restart();
  const token = readFileSync(join(gateway.dataDir, 'admin.token'), 'utf8').trim();
  const { json } = await ask(gateway, 'GET', '/audit', { token });
  const actor = { type: 'gateway', id: null, address: null, requestId: null };
  const subject = { resourceId: 'admin', details: { name: 'admin' } };
  expect(Object(json).events).toMatchObject([
    { action: 'access-token.created', actor, ...subject },
  ]);
});

test('the record of an answered change survives a kill of gateway and store', {
  timeout: 60_000,
}, async ({ own }) => {
  const home = await own.home({ kind: 'process' });
  const { gateway } = home;
  const made = await times(20, () => home.room());
  const viewer = await home.client();
  const filters = ['elsewhere/1', 'elsewhere/2'];
  await viewer.subscribe(filters);
  const denied = async () => {
    const records = await recordsOf(home, 'actions=permission.refused');
    return records.map(({ details }) => Object(details).topic);
  };
  await expect.poll(denied).toEqual(filters);
  const store = await home.store();
  await gateway.kill();
  store.kill();
  await gateway.start();
  const created = await recordsOf(home, 'actions=room.created');
  expect(created.map(({ resourceId }) => resourceId).toSorted()).toEqual(made.toSorted());
  expect(await denied()).toEqual(filters);
});
