import { once } from 'node:events';
import { request } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { ADMIN_TOKEN } from '../../former/gateway/running-gateway.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { page } from '../access/audit-pages.js';
import { failure } from '../client.js';
import { type HarnessOptions, startGateway, type TestGateway, useGateway } from '../harness.js';

const redis = useRedis();
const NAMES = [
  'id',
  'kind',
  'detectedAt',
  'receivedAt',
  'deviceId',
  'deviceName',
  'roomId',
  'roomName',
  'groupId',
  'groupName',
  'data',
  'customData',
  'video',
  'audio',
  'state',
  'acknowledgedById',
  'acknowledgedByName',
  'acknowledgedAt',
  'resolvedById',
  'resolvedByName',
  'resolvedAt',
  'note',
];
const eventsSchema = z.object({ events: z.array(z.object({ id: z.string() })) });

const running = useGateway(redis);

async function start(options?: HarnessOptions) {
  const gateway = options === undefined ? running() : await startGateway(redis, options);
  const locationId = await gateway.createLocation();
  const deviceId = await gateway.createDevice(locationId, 'Bett "am Fenster", 1');
  const path = `/care-homes/${locationId}/alarms`;
  const get = (query: string, accept: string) =>
    gateway.admin('GET', path + query, { headers: { Accept: accept } });
  /** The rows, by the names in the header. */
  const rows = async (query = '', accept = 'text/csv') => {
    const answer = await get(query, accept);
    expect(answer.headers['content-type']).toBe('text/csv; charset=utf-8; header=present');
    const [names = [], ...records] = recordsOf(answer.text);
    expect(names).toEqual(NAMES);
    return records.map((record) => {
      expect(record).toHaveLength(names.length);
      return Object.fromEntries(names.map((name, at) => [name, record[at]]));
    });
  };
  return { gateway, locationId, deviceId, path, get, rows };
}

/** Parses RFC 4180 strictly: every record ends with CRLF. */
function recordsOf(text: string): string[][] {
  const records: string[][] = [];
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy;
  for (let record: string[] = []; field.lastIndex < text.length; ) {
    const found = field.exec(text);
    if (found === null) throw new Error('no CSV');
    const [, quoted, plain = '', end] = found;
    record.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === ',') continue;
    records.push(record);
    record = [];
  }
  return records;
}

function at(second: number): string {
  return new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
}

it('shows the alarms of a location as CSV, with each field as it was when the alarm was raised', async () => {
  const { gateway, locationId, deviceId, rows } = await start();
  const customData = '{"note":"Tür \\"links\\"",\r\n "phone":9007199254740993}';
  const bare = await gateway.recordAlarm(deviceId, { kind: 'noise', detectedAt: at(1) });
  const { groupId, roomId } = await gateway.placeInGroup(locationId, deviceId);
  await gateway.admin('PATCH', `/care-homes/${locationId}/devices/${deviceId}/custom-data`, {
    body: customData,
    headers: { 'Content-Type': 'application/json' },
  });
  const video = `${deviceId}/1.mp4`;
  const full = await gateway.recordAlarm(
    deviceId,
    `{"kind":"fall","detectedAt":"${at(2)}","level":1.10,"footage":{"video":"${video}"}}`,
  );
  const device = { deviceId, deviceName: 'Bett "am Fenster", 1' };
  const json = { note: 'a "note", with a comma' };
  await gateway.admin('POST', `/care-homes/${locationId}/alarms/${full}/resolve`, { json });
  const untouched = {
    acknowledgedById: '',
    acknowledgedByName: '',
    acknowledgedAt: '',
    resolvedById: '',
    resolvedByName: '',
    resolvedAt: '',
    note: '',
  };
  expect(await rows()).toEqual([
    {
      id: full,
      kind: 'fall',
      detectedAt: at(2),
      receivedAt: expect.any(String),
      ...device,
      roomId,
      roomName: 'Zimmer 1',
      groupId,
      groupName: 'Station 1',
      data: '{"level":1.10}',
      customData,
      video: expect.stringContaining(video),
      audio: '',
      ...untouched,
      ...json,
      state: 'resolved',
      resolvedById: 'admin',
      resolvedByName: 'admin',
      resolvedAt: expect.stringMatching(/Z$/),
    },
    {
      id: bare,
      kind: 'noise',
      detectedAt: at(1),
      receivedAt: expect.any(String),
      ...device,
      roomId: '',
      roomName: '',
      groupId: '',
      groupName: '',
      data: '',
      customData: '{}',
      video: '',
      audio: '',
      ...untouched,
      state: 'raised',
    },
  ]);
});

it('sends all pages in one response, with the same filters, permissions and order', async () => {
  const { gateway, locationId, deviceId, path, get, rows } = await start();
  const alarms = Array.from({ length: 25 }, (_, index) => {
    return { kind: (index + 1) % 5 === 0 ? 'fall' : 'noise', detectedAt: at(index + 1) };
  });
  const ids = await gateway.recordAlarms(deviceId, alarms);
  const idsOf = async (query: string) => (await rows(query)).map(({ id }) => id);
  for (const limit of ['', '&limit=1', '&limit=7', '&limit=25']) {
    expect(await idsOf(`?order=asc${limit}`)).toEqual(ids);
    expect(await idsOf(`?order=desc${limit}`)).toEqual(ids.toReversed());
  }
  expect(await idsOf(`?order=asc&kinds=fall&limit=2`)).toHaveLength(5);
  expect(await idsOf(`?after=${at(20)}&before=${at(23)}&limit=1`)).toHaveLength(2);
  expect(await idsOf(`?kinds=wandering`)).toEqual([]);

  const page = await get('?order=asc&limit=10', 'application/json');
  expect(eventsSchema.parse(page.json).events).toHaveLength(10);
  const { nextCursor } = z.object({ nextCursor: z.string() }).parse(page.json);
  expect(await idsOf(`?order=asc&cursor=${nextCursor}`)).toEqual(ids.slice(10));

  const headers = { Accept: 'text/csv' };
  const groupId = await gateway.createGroup(locationId);
  const ofGroup = await gateway.createToken([
    { location: locationId, group: groupId, role: 'viewer' },
  ]);
  const none = await gateway.call('GET', path, { token: ofGroup, headers });
  expect(recordsOf(none.text)).toEqual([NAMES]);
  const other = await gateway.createLocation();
  const ofOther = await gateway.createToken([{ location: other, role: 'viewer' }]);
  const denied = await gateway.call('GET', path, { token: ofOther, headers });
  expect(failure(denied)).toBe('403 forbidden');
  expect(failure(await get('?kinds=x', 'text/csv'))).toBe('400 invalid-request');
  expect(failure(await get('?cursor=x', 'text/csv'))).toBe('400 invalid-cursor');
});

it.each([
  ['text/csv', 'csv'],
  ['TEXT/CSV', 'csv'],
  ['text/csv;q=0.8, application/json;q=0.5', 'csv'],
  ['text/csv;q=0.5, */*', 'csv'],
  ['application/json, text/plain, */*', 'json'],
  ['application/json, text/csv', 'json'],
  ['text/csv;q=0', 'json'],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'json'],
  ['image/png', 'json'],
  ['', 'json'],
])('answers `Accept: %j` with %s', async (accept, expected) => {
  const { get } = await start();
  const { status, headers } = await get('', accept);
  expect(status).toBe(200);
  expect(headers['content-type']).toMatch(expected === 'csv' ? /^text\/csv;/ : /\/json$/);
  expect(headers.vary).toBe('Accept');
});

it('is a table of local times for Excel in German on request', async () => {
  const { gateway, deviceId, path } = await start();
  await gateway.recordAlarm(deviceId, { kind: 'fall', detectedAt: '2026-07-01T22:30:15.700Z' });
  const query = 'separator=;&timeZone=Europe/Berlin';
  const headers = { Accept: 'text/csv', Authorization: `Bearer ${ADMIN_TOKEN}` };
  const answer = await fetch(`http://127.0.0.1:${gateway.port}${path}?${query}`, { headers });
  // `text()` would take the byte order mark off.
  const text = Buffer.from(await answer.arrayBuffer()).toString();
  expect(text.startsWith('\uFEFFid;kind;detectedAt;')).toBe(true);
  expect(text).toMatch(/;fall;2026-07-02 00:30:15;\d{4}-\d\d-\d\d \d\d:\d\d:\d\d;/);
  const plain = await gateway.admin('GET', path, { headers: { Accept: 'text/csv' } });
  expect(plain.text).toContain(',fall,2026-07-01T22:30:15.700Z,');
  const audit = await gateway.admin('GET', `/audit?${query}`, { headers: { Accept: 'text/csv' } });
  expect(audit.text).toMatch(/^id;at;.*\r\n\d+;\d{4}-\d\d-\d\d \d\d:\d\d:\d\d;/);
  for (const wrong of ['separator=|', 'timeZone=Mars/Base', 'timeZone=']) {
    expect(failure(await gateway.admin('GET', `${path}?${wrong}`))).toBe('400 invalid-request');
  }
});

it('answers HEAD without a body', async () => {
  const { gateway, path } = await start();
  const answer = await gateway.admin('HEAD', path, { headers: { Accept: 'text/csv' } });
  expect([answer.status, answer.text]).toEqual([200, '']);
  expect(answer.headers['content-type']).toMatch(/^text\/csv;/);
});

/** Many more than the gateway has written by the time the first arrives. */
const MANY = 500;

/** Requests pages of one alarm each, and does something once the first has arrived. */
async function whileStreaming(
  gateway: TestGateway,
  { path, token }: { readonly path: string; readonly token: string },
  work: () => unknown,
): Promise<void> {
  const headers = { Accept: 'text/csv', Authorization: `Bearer ${token}` };
  const asked = request({ port: gateway.port, path: `${path}?order=asc&limit=1`, headers });
  asked.end();
  const [response] = await once(asked, 'response');
  await once(response, 'data');
  await work();
  await readText(response);
}

it('breaks off the body when a later page cannot be read', async () => {
  const { gateway, deviceId, path, get } = await start({ losesStore: true });
  await gateway.recordAlarms(deviceId, Array(MANY).fill({ kind: 'fall' }));
  const download = whileStreaming(gateway, { path, token: ADMIN_TOKEN }, () => gateway.loseStore());
  await expect(download).rejects.toThrow('aborted');
  expect(gateway.logged.some((line) => line.includes('failed to stream'))).toBe(true);
  expect((await get('?order=desc&limit=1', 'text/csv')).status).toBe(503);
});

it('breaks off the body when the token is deleted midway, and signs no more URLs', async () => {
  const { gateway, locationId, deviceId, path } = await start();
  const footage = { video: `${deviceId}/1.mp4` };
  await gateway.recordAlarms(deviceId, Array(MANY).fill({ kind: 'fall', footage }));
  const { id, token } = await gateway.issueToken([{ location: locationId, role: 'viewer' }]);
  const download = whileStreaming(gateway, { path, token }, () =>
    gateway.admin('DELETE', `/access-tokens/${id}`),
  );
  await expect(download).rejects.toThrow('aborted');
  const { events } = await page(gateway, 'actions=footage.url-made,access-token.deleted');
  // One page may have been checked before the token was deleted.
  const deletedAt = events.findIndex(({ action }) => action === 'access-token.deleted');
  expect([0, 1]).toContain(deletedAt);
  expect(events.length).toBeGreaterThan(1);
  const line = gateway.logged.find((each) => each.includes('failed to stream'));
  expect(line).toContain('"level":20');
});

it('has no cell that a spreadsheet would run as a formula', async () => {
  const { gateway, locationId, rows } = await start();
  const names = [
    '=1+1',
    '+49 30',
    '-1',
    '@SUM(A1)',
    '＝1+1',
    ' =HYPERLINK("x")',
    'Bett 1-2',
    // With the list separator of a German spreadsheet.
    'Bett 1; =1+1;2',
  ];
  for (const name of names) {
    await gateway.recordAlarm(await gateway.createDevice(locationId, name), { kind: 'fall' });
  }
  const shown = (await rows('?order=asc')).map(({ deviceName }) => deviceName);
  // Names are trimmed.
  expect(shown).toEqual([
    "'=1+1",
    "'+49 30",
    "'-1",
    "'@SUM(A1)",
    "'＝1+1",
    `'=HYPERLINK("x")`,
    'Bett 1-2',
    "Bett 1; '=1+1;2",
  ]);
});
