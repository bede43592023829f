/**
 * The history of alarms as a table for spreadsheets, and as counts for charts (contract 2).
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import {
  describe,
  each,
  expect,
  type Home,
  type TestDevice,
  type TestToken,
  test,
} from '../harness/index.js';

const CSV = { Accept: 'text/csv' };

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

describe('as CSV', () => {
  const NAMES =
    'id,kind,detectedAt,receivedAt,deviceId,deviceName,roomId,roomName,groupId,groupName,data,customData,video,audio,' +
    'state,acknowledgedById,acknowledgedByName,acknowledgedAt,resolvedById,resolvedByName,resolvedAt,note';

  /** Parses RFC 4180 strictly: every record ends with CRLF. */
  function recordsOf(text: string): string[][] {
    const records: string[][] = [];
    const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy;
    for (let cells: string[] = []; field.lastIndex < text.length; ) {
      const found = field.exec(text);
      if (found === null) throw new Error('no CSV');
      const [, quoted, plain = '', end] = found;
      cells.push(quoted?.replaceAll('""', '"') ?? plain);
      if (end === ',') continue;
      records.push(cells);
      cells = [];
    }
    return records;
  }

  /** The rows, by the names in the header. */
  async function rows(home: Home, query = '', who: Partial<TestToken> = {}) {
    const answer = await home.must('GET', `./alarms${query}`, { headers: CSV, token: who.token });
    expect(answer.headers['content-type']).toBe('text/csv; charset=utf-8; header=present');
    const [names = [], ...records] = recordsOf(answer.text);
    expect(names.join()).toBe(NAMES);
    return records.map((record) => {
      expect(record).toHaveLength(names.length);
      return Object.fromEntries(names.map((name, index) => [name, record[index]]));
    });
  }

  test('each alarm has its fields of then, and an empty cell where it has none', async ({
    home,
  }) => {
    const device = await home.device('Bett "am Fenster", 1');
    const customData = '{"note":"Tür \\"links\\"",\r\n "phone":9007199254740993}';
    const [bare] = await home.record(device, { kind: 'noise', detectedAt: at(1) });
    const { group, room } = await placeInGroup(home, device);
    await home.customData(device, customData);
    const id = randomUUID();
    const video = `${device.id}/1.mp4`;
    const members = `"id":"${id}","kind":"fall","detectedAt":"${at(2)}"`;
    await home.publish(
      device,
      'alarms',
      `{${members},"level":1.10,"footage":{"video":"${video}"}}`,
    );
    const note = 'a "note", with a comma';
    await home.must('POST', `./alarms/${id}/resolve`, { json: { note } });
    const empty = Object.fromEntries(NAMES.split(',').map((name) => [name, '']));
    const common = {
      ...empty,
      receivedAt: expect.stringMatching(/Z$/),
      deviceId: device.id,
      deviceName: device.name,
    };
    expect(await rows(home)).toEqual([
      {
        ...common,
        id,
        kind: 'fall',
        detectedAt: at(2),
        roomId: room,
        roomName: 'Zimmer 1',
        groupId: group,
        groupName: 'Station 1',
        data: '{"level":1.10}',
        customData,
        video: expect.stringContaining(video),
        note,
        state: 'resolved',
        resolvedById: 'admin',
        resolvedByName: 'admin',
        resolvedAt: expect.stringMatching(/Z$/),
      },
      {
        ...common,
        id: bare,
        kind: 'noise',
        detectedAt: at(1),
        customData: '{}',
        state: 'raised',
      },
    ]);
  });

  test('all pages come in one answer, with the filters, rights and order of the list', async ({
    home,
  }) => {
    const device = await home.device();
    const alarms = Array.from({ length: 25 }, (_, index) => {
      return { kind: (index + 1) % 5 === 0 ? 'fall' : 'noise', detectedAt: at(index + 1) };
    });
    const ids = await home.record(device, ...alarms);
    const idsOf = async (query: string, who?: TestToken) =>
      (await rows(home, query, who)).map(({ id }) => id);
    for (const limit of ['', '&limit=1', '&limit=7', '&limit=25']) {
      expect(await idsOf(`?order=asc${limit}`)).toEqual(ids);
      expect(await idsOf(`?order=desc${limit}`)).toEqual(ids.toReversed());
    }
    expect(await idsOf('?order=asc&kinds=fall&limit=2')).toHaveLength(5);
    expect(await idsOf(`?after=${at(20)}&before=${at(23)}&limit=1`)).toHaveLength(2);
    expect(await idsOf('?kinds=wandering')).toEqual([]);
    const cursor = (await home.must('GET', './alarms?order=asc&limit=10')).string('nextCursor');
    expect(await idsOf(`?order=asc&cursor=${cursor}`)).toEqual(ids.slice(10));
    const ofGroup = await home.token([{ role: 'viewer', group: await home.group() }]);
    expect(await idsOf('', ofGroup)).toEqual([]);
    const outcome = async (query: string, token?: string) =>
      (await home.ask('GET', `./alarms${query}`, { headers: CSV, token })).outcome;
    const stranger = await home.token([
      {
        location: (await home.must('POST', '/care-homes', { json: { name: 'Elm' } })).id,
        role: 'viewer',
      },
    ]);
    expect(await outcome('', stranger.token)).toBe('403 forbidden');
    expect(await outcome('?kinds=x')).toBe('400 invalid-request');
    expect(await outcome('?cursor=x')).toBe('400 invalid-cursor');
  });

  const ACCEPTED: readonly [accept: string, type: string][] = [
    ['text/csv', 'text/csv'],
    ['TEXT/CSV', 'text/csv'],
    ['text/csv;q=0.8, application/json;q=0.5', 'text/csv'],
    ['text/csv;q=0.5, */*', 'text/csv'],
    ['application/json, text/plain, */*', 'application/json'],
    ['application/json, text/csv', 'application/json'],
    ['text/csv;q=0', 'application/json'],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'application/json'],
    ['image/png', 'application/json'],
    ['', 'application/json'],
  ];

  test('it comes to whoever prefers it', async ({ home }) => {
    const answered = await each(ACCEPTED, async ([accept]) => {
      const { status, headers } = await home.ask('GET', './alarms', {
        headers: { Accept: accept },
      });
      expect([status, headers.vary]).toEqual([200, 'Accept']);
      return [accept, headers['content-type']?.split(';')[0]];
    });
    expect(answered).toEqual(ACCEPTED);
    const { status, headers, text } = await home.ask('HEAD', './alarms', { headers: CSV });
    expect([status, headers['content-type'], text]).toEqual([
      200,
      expect.stringMatching(/^text\/csv;/),
      '',
    ]);
  });

  test('it is a table of local times for Excel in German on request', async ({ home }) => {
    await home.record(await home.device(), { detectedAt: '2026-07-01T22:30:15.700Z' });
    const german = 'separator=;&timeZone=Europe/Berlin';
    const { text } = await home.must('GET', `./alarms?${german}`, { headers: CSV });
    expect(text.startsWith('\uFEFFid;kind;detectedAt;')).toBe(true);
    expect(text).toMatch(/;fall;2026-07-02 00:30:15;\d{4}-\d\d-\d\d \d\d:\d\d:\d\d;/);
    const [plain] = await rows(home);
    expect(plain?.['detectedAt']).toBe('2026-07-01T22:30:15.700Z');
    const audit = await home.must('GET', `/audit?limit=1&${german}`, { headers: CSV });
    expect(audit.text).toMatch(/^\uFEFFid;at;.*\r\n\d+;\d{4}-\d\d-\d\d \d\d:\d\d:\d\d;/);
    for (const wrong of ['separator=|', 'timeZone=Mars/Base', 'timeZone=']) {
      expect((await home.ask('GET', `./alarms?${wrong}`)).outcome).toBe('400 invalid-request');
    }
  });

  test('no cell is a formula for a spreadsheet', async ({ home }) => {
    // The last has the list separator of a German spreadsheet; names are trimmed.
    const cells: readonly [name: string, cell: string][] = [
      ['=1+1', "'=1+1"],
      ['+49 30', "'+49 30"],
      ['-1', "'-1"],
      ['@SUM(A1)', "'@SUM(A1)"],
      ['＝1+1', "'＝1+1"],
      [' =HYPERLINK("x")', `'=HYPERLINK("x")`],
      ['Bett 1-2', 'Bett 1-2'],
      ['Bett 1; =1+1;2', "Bett 1; '=1+1;2"],
    ];
    for (const [name] of cells) await home.record(await home.device(name), {});
    const shown = (await rows(home, '?order=asc')).map(({ deviceName }) => deviceName);
    expect(shown).toEqual(cells.map(([, cell]) => cell));
  });

  /** Requests pages of one alarm each, and does something once the first has arrived. */
  async function whileStreaming(home: Home, { token }: TestToken, work: () => unknown) {
    const asked = request({
      port: home.gateway.httpPort,
      path: `${home.path}/alarms?order=asc&limit=1`,
      headers: { ...CSV, Authorization: `Bearer ${token}` },
    });
    asked.end();
    const [response] = await once(asked, 'response');
    await once(response, 'data');
    await work();
    await readText(response);
  }

  /** Many more than the gateway has written by the time the first arrives. */
  const MANY = 500;

  test('the body breaks off when a later page cannot be read', async ({ own }) => {
    const redis = await own.redis();
    const path = `${own.directory()}/redis.sock`;
    const proxy = await own.proxy(redis.socketPath, path);
    const home = await own.home({ env: { GATEWAY_REDIS_URL: `unix://${path}` } });
    await home.record(await home.device(), ...Array(MANY).fill({}));
    const download = whileStreaming(home, home.viewer, () => proxy.cut());
    await expect(download).rejects.toThrow('aborted');
    expect((await home.ask('GET', './alarms?limit=1', { headers: CSV })).status).toBe(503);
  });

  test('the body breaks off when the token is deleted, and no more URLs are signed', async ({
    home,
  }) => {
    const device = await home.device();
    const footage = { video: `${device.id}/1.mp4` };
    await home.record(device, ...Array(MANY).fill({ footage }));
    const viewer = await home.token();
    const download = whileStreaming(home, viewer, () =>
      home.must('DELETE', `/access-tokens/${viewer.id}`),
    );
    await expect(download).rejects.toThrow('aborted');
    const audit = await home.must('GET', '/audit?actions=footage.url-made,access-token.deleted');
    const events = audit
      .list('events')
      .filter(
        ({ resourceId, actor }) => resourceId === viewer.id || Object(actor).id === viewer.id,
      );
    // One page may have been checked before the token was deleted.
    const deletedAt = events.findIndex(({ action }) => action === 'access-token.deleted');
    expect([0, 1]).toContain(deletedAt);
    expect(events.length).toBeGreaterThan(1);
  });
});

describe('the counts of alarms', () => {
  const RANGE = 'after=2026-03-27T22:59:59.999Z&before=2026-03-30T22:00:00Z';
  const BERLIN = 'timeZone=Europe/Berlin';

  /** Falls and calls for help around the change of the clocks, from the 29th on in a group. */
  async function counted(home: Home) {
    const device = await home.device();
    const raise = (kind: string, ...times: readonly string[]) =>
      home.record(device, ...times.map((time) => ({ kind, detectedAt: `2026-03-${time}:00Z` })));
    await raise('fall', '27T22:59', '27T23:00', '28T22:59', '28T23:00', '29T21:59');
    const place = await placeInGroup(home, device);
    await raise('fall', '29T21:59', '29T22:00');
    await raise('helpCall', '28T12:00', '29T22:30', '30T22:00');
    return { device, ...place };
  }

  test('are by day of a time zone, across a change of its clocks, or by hour', async ({ home }) => {
    const { group } = await counted(home);
    const ofGroup = await home.token([{ role: 'viewer', group }]);
    const buckets = async (query: string, who?: TestToken) => {
      const answer = await home.must('GET', `./alarm-counts?${query}`, who);
      return answer.list('buckets').map(({ start, counts }) => [start, counts]);
    };
    expect(await buckets(`by=day&${BERLIN}&${RANGE}`)).toEqual([
      ['2026-03-27T23:00:00.000Z', { fall: 2, helpCall: 1 }],
      ['2026-03-28T23:00:00.000Z', { fall: 3 }],
      ['2026-03-29T22:00:00.000Z', { fall: 1, helpCall: 1 }],
    ]);
    const exclusive = 'after=2026-03-27T23:00:00Z&before=2026-03-28T22:59:00Z';
    expect(await buckets(`${BERLIN}&${exclusive}`)).toEqual([
      ['2026-03-27T23:00:00.000Z', { helpCall: 1 }],
    ]);
    const hours = 'after=2026-03-29T20:30:00Z&before=2026-03-29T22:30:00.001Z';
    expect(await buckets(`by=hour&${hours}`)).toEqual([
      ['2026-03-29T20:00:00.000Z', {}],
      ['2026-03-29T21:00:00.000Z', { fall: 2 }],
      ['2026-03-29T22:00:00.000Z', { fall: 1, helpCall: 1 }],
    ]);
    const days = 'after=2026-03-28T23:00:00Z&before=2026-03-30T00:00:00Z';
    expect(await buckets(`${BERLIN}&${days}`, ofGroup)).toEqual([
      ['2026-03-28T23:00:00.000Z', { fall: 1 }],
      ['2026-03-29T22:00:00.000Z', { fall: 1, helpCall: 1 }],
    ]);
  });

  test('are filtered as the list is', async ({ home }) => {
    const { device, group, room } = await counted(home);
    const [id] = await home.record(device, { detectedAt: '2026-03-29T12:00:00Z' });
    await home.must('POST', `./alarms/${id}/resolve`);
    // More than the gateway reads at a time.
    const many = { kind: 'noise', detectedAt: '2026-03-30T10:00:00Z' };
    await home.record(device, ...Array(1_100).fill(many));
    const all = { fall: 7, helpCall: 2, noise: 1_100 };
    const rows: readonly [string, Record<string, number>][] = [
      ['', all],
      ['kinds=helpCall', { helpCall: 2 }],
      [`device=${device.id}`, all],
      [`device=${device.id}&kinds=fall,noise`, { fall: 7, noise: 1_100 }],
      [`room=${room}`, { ...all, fall: 3 }],
      [`group=${group}`, { ...all, fall: 3 }],
      ['state=resolved', { fall: 1 }],
      ['state=raised', { ...all, fall: 6 }],
    ];
    const sums = await each(rows, async ([query]) => {
      const answer = await home.must('GET', `./alarm-counts?by=day&${RANGE}&${query}`);
      const sum: Record<string, number> = {};
      for (const { counts } of answer.list('buckets')) {
        for (const [kind, count] of Object.entries(Object(counts)))
          sum[kind] = (sum[kind] ?? 0) + Number(count);
      }
      return [query, sum];
    });
    expect(sums).toEqual(rows);
  });

  test('are of the last month or day unless asked for, of at most 1,000 buckets', async ({
    home,
  }) => {
    const year = 'after=2025-12-31T23:59:59.999Z&before=2027-01-01T00:00:00Z';
    const rows: readonly [string, number | string][] = [
      [year, 365],
      [`by=hour&${year}`, '400 invalid-request'],
      ['', 31],
      ['by=hour', 25],
      ['after=2026-01-02T00:00:00Z&before=2026-01-01T00:00:00Z', 0],
      ...['by=week', 'by=', 'timeZone=Mars/Base', 'timeZone=', 'kinds=fell'].map(
        (query): [string, string] => [query, '400 invalid-request'],
      ),
    ];
    const answered = await each(rows, async ([query]) => {
      const answer = await home.ask('GET', `./alarm-counts?${query}`);
      return [query, answer.status === 200 ? answer.list('buckets').length : answer.outcome];
    });
    expect(answered).toEqual(rows);
  });
});
