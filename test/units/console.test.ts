/** The console without a browser: its counts, searches, CSV, clock, and words in both languages. */

import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { FAILURES } from '../../src/bridge/failures.js';
import { DENIED_REASONS } from '../../src/broker/connection-list.js';
import type { Device, Room } from '../../src/console/api.js';
import { OpenAlarms } from '../../src/console/board/open-alarms.js';
import { RowNumbers, rowsOf } from '../../src/console/board/row.js';
import { actionNames } from '../../src/console/gateway/audit.js';
import { DENIED_DE } from '../../src/console/gateway/denied-words.js';
import { failureNames } from '../../src/console/gateway/destinations.js';
import { subjectNames } from '../../src/console/gateway/overview.js';
import { reasonTexts } from '../../src/console/gateway/rejected.js';
import { readCounts } from '../../src/console/history/counts.js';
import { readPage } from '../../src/console/history/list.js';
import { isFound, parseSearch } from '../../src/console/history/search.js';
import { type Home, homeTree, presenceOf } from '../../src/console/home/home.js';
import { comparedRows, decodeTable, parseDevices } from '../../src/console/home/import.js';
import { ago, type Language, language } from '../../src/console/language.js';
import { GatewayClock, type LiveMessage, live } from '../../src/console/live.js';
import { exactJson, parseExactJson, plainText } from '../../src/console/request.js';
import { ALL_HOMES } from '../../src/console/session.js';
import { csvText } from '../../src/console/ui/handover.js';
import { INVALID_PUBLISH_REASONS } from '../../src/domain/alarm.js';
import { FAULT_SUBJECTS, faultWords } from '../../src/domain/fault.js';
import { FAULTS } from '../../src/domain/faults.js';
import { AUDIT_ACTIONS } from '../../src/site/audit-trail.js';

/** Sets the language until the test ends. */
function speak(chosen: Language) {
  language.value = chosen;
  onTestFinished(() => {
    language.value = 'en';
  });
}

/** Answers the requests of the console until the test ends. */
function answerWith(answer: (path: string) => Response) {
  vi.stubGlobal('fetch', async (input: string) => answer(input));
  onTestFinished(() => {
    vi.unstubAllGlobals();
  });
}

describe('counts of alarms', () => {
  const HOUR_MS = 3_600_000;
  const DAY_MS = 24 * HOUR_MS;
  const NOW_MS = Date.parse('2026-11-27T12:00:00Z');

  const search = parseSearch(new URLSearchParams('location=l'));
  let asked: URLSearchParams[] = [];
  /** What the gateway counts by day and by hour. */
  let counted: Record<string, { start: string; counts: Record<string, number> }[]> = {};

  beforeEach(() => {
    asked = [];
    answerWith((input) => {
      const query = new URL(input, 'http://gateway').searchParams;
      asked.push(query);
      return Response.json({ buckets: counted[query.get('by') ?? ''] });
    });
  });

  function bucket(startMs: number, counts: Record<string, number> = {}) {
    return { start: new Date(startMs).toISOString(), counts };
  }

  it('starts with the first day that has an alarm when the search has no start, in one request', async () => {
    const first = NOW_MS - 100 * DAY_MS;
    counted = { day: [bucket(first - DAY_MS), bucket(first, { fall: 2 }), bucket(first + DAY_MS)] };
    const { unit, buckets, hoursFit, isCut } = await readCounts(search, ['l'], undefined, NOW_MS);
    expect([unit, hoursFit, isCut]).toEqual(['day', false, false]);
    expect(buckets).toEqual([
      { startMs: first, total: 2, byKind: { fall: 2 } },
      { startMs: first + DAY_MS, total: 0, byKind: {} },
    ]);
    expect(asked.map((query) => query.get('by'))).toEqual(['day']);
  });

  it('counts by hour for the last days, unless days are requested', async () => {
    const first = NOW_MS - DAY_MS;
    counted = { day: [bucket(first, { fall: 1 })], hour: [bucket(first, { fall: 1 })] };
    expect((await readCounts(search, ['l'], undefined, NOW_MS)).unit).toBe('hour');
    expect((await readCounts(search, ['l'], 'day', NOW_MS)).unit).toBe('day');
  });

  it('covers the newest part of a period that is too long', async () => {
    counted = { day: [bucket(NOW_MS - DAY_MS, { noise: 1 })] };
    const long = { ...search, fromMs: NOW_MS - 500 * DAY_MS, toMs: NOW_MS };
    expect(await readCounts(long, ['l'], 'hour', NOW_MS)).toMatchObject({
      isCut: true,
      unit: 'day',
    });
    const after = Date.parse(asked[0]?.get('after') ?? '');
    expect(after).toBe(NOW_MS - 399 * DAY_MS - 1);
  });

  it('includes alarms of unknown kinds from a newer gateway in the total', async () => {
    counted = { day: [bucket(NOW_MS - 30 * DAY_MS, { fall: 1, flood: 2 })] };
    const { buckets } = await readCounts(search, ['l'], undefined, NOW_MS);
    expect(buckets).toMatchObject([{ total: 3, byKind: { fall: 1 } }]);
  });

  it('adds up all homes, from the first day on which one of them had an alarm', async () => {
    counted = { day: [bucket(NOW_MS - 9 * DAY_MS), bucket(NOW_MS - 8 * DAY_MS, { fall: 1 })] };
    const { buckets } = await readCounts(search, ['l', 'm', 'n'], undefined, NOW_MS);
    expect(asked).toHaveLength(3);
    expect(buckets).toMatchObject([
      { startMs: NOW_MS - 8 * DAY_MS, total: 3, byKind: { fall: 3 } },
    ]);
  });
});

describe('pages of alarms', () => {
  it('returns no page of a search that was abandoned while the answer was being read', async () => {
    const stopping = new AbortController();
    answerWith(() => {
      stopping.abort();
      return Response.json({ nextCursor: null, events: [] });
    });
    const search = parseSearch(new URLSearchParams('location=l'));
    await expect(readPage(search, undefined, stopping.signal)).rejects.toThrow(/abort/i);
  });
});

describe('exact JSON', () => {
  it.each([
    '{"n":9007199254740993}',
    '[1.10,-0,1e400,1E5,0.1,-12]',
    '{"9":"say \\"1.10\\" or \\\\","n":[{"m":12345678901234567890}]}',
  ])('writes %s exactly as it was read', (text) => {
    expect(exactJson(parseExactJson(text))).toBe(text);
  });

  it('leaves all other values as JavaScript parses them', () => {
    const value = { text: '1.10', number: 7, list: [0.5, true, null] };
    expect(parseExactJson(JSON.stringify(value))).toEqual(value);
  });

  it('shows a number without quotes', () => {
    const values = z
      .array(z.string())
      .parse(parseExactJson('[9007199254740993,"9007199254740993"]'));
    expect(values.map(plainText)).toEqual(Array(2).fill('9007199254740993'));
  });
});

describe('the clock of the gateway', () => {
  const DAY_MS = 24 * 60 * 60 * 1000;
  /** More than the time between two calls, even on a machine that stalls. */
  const MOMENT_MS = 60_000;

  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('follows the gateway, even when the clock of the tablet is corrected meanwhile', () => {
    const clock = new GatewayClock();
    const gatewayMs = Date.now() + 3 * DAY_MS;
    clock.set(new Date(gatewayMs).toISOString());
    expect(Math.abs(clock.now() - gatewayMs)).toBeLessThan(MOMENT_MS);
    expect(Number.isInteger(clock.now())).toBe(true);
    // Until the next heartbeat the board must not treat every alarm as days old.
    vi.spyOn(Date, 'now').mockReturnValue(gatewayMs);
    expect(Math.abs(clock.now() - gatewayMs)).toBeLessThan(MOMENT_MS);
  });
});

describe('a search of the history', () => {
  const AT = '2026-01-02T03:04:05.000Z';

  /** A new alarm as a subscriber gets it. */
  const NEW_ALARM = {
    topic: 'care-homes/home/devices/bed/alarms/fall',
    retained: false,
    isRecorded: true,
    payload: {
      detectedAt: AT,
      test: true,
      room: { id: 'room', name: 'Room' },
      group: { id: 'group', name: 'Group' },
    },
  };

  it.each([
    ['', true],
    ['group=group&room=room&device=bed&kinds=noise,fall&state=raised', true],
    ['group=other', false],
    ['room=other', false],
    ['device=other', false],
    ['kinds=noise', false],
    ['state=resolved', false],
    ['test=false', false],
    [`from=${AT}`, true],
    [`to=${AT}`, false],
    ['to=2026-01-02T03:04:05.001Z', true],
    ['from=2026-01-02T03:04:05.001Z', false],
  ])('a search with "%s" finds a new alarm: %s', (query, expected) => {
    const search = parseSearch(new URLSearchParams(`location=home&${query}`));
    expect(isFound(search, NEW_ALARM)).toBe(expected);
    expect(isFound({ ...search, locationId: ALL_HOMES }, NEW_ALARM)).toBe(expected);
    expect(isFound({ ...search, locationId: 'elsewhere' }, NEW_ALARM)).toBe(false);
    // Its live copy comes ahead of its record: it would not be in the list yet.
    expect(isFound(search, { ...NEW_ALARM, isRecorded: false })).toBe(false);
  });
});

describe('open alarms', () => {
  const AT_MS = Date.parse('2026-01-02T20:00:00Z');
  const DEVICE = { id: 'd', name: 'Bed' };
  const HOME = { id: 'l', name: 'Home', devices: ['d'] };

  beforeEach(() => {
    vi.useFakeTimers();
    onTestFinished(() => {
      vi.useRealTimers();
    });
  });

  /** A message of the device's alarm with this id; a higher `afterMs` is newer. */
  function message(sort: string, id: string, payload: object = {}, afterMs = 0): LiveMessage {
    const at = new Date(AT_MS + afterMs).toISOString();
    const whole = { id, kind: 'fall', detectedAt: at, receivedAt: at, at, device: DEVICE };
    return {
      topic: `care-homes/l/devices/d/${sort}/fall`,
      retained: false,
      isRecorded: true,
      payload: { ...whole, location: HOME, room: null, group: null, ...payload },
    };
  }

  const step = (id: string, state: string) =>
    message('alarm-states', id, { state, by: { id: 't', name: 'Mia' }, note: 'on my way' });

  function drawn(alarms: OpenAlarms) {
    vi.advanceTimersByTime(60_000);
    return alarms.shown.value;
  }

  it('keeps a step that comes before its alarm, and resolved is the last one', () => {
    const alarms = new OpenAlarms();
    for (const one of [step('1', 'acknowledged'), message('alarms', '1')]) alarms.received(one);
    expect(drawn(alarms)).toMatchObject([
      { state: 'acknowledged', acknowledged: { by: 'Mia' }, note: 'on my way' },
    ]);
    const late = [step('1', 'resolved'), step('1', 'acknowledged'), message('alarms', '1')];
    for (const one of late) alarms.received(one);
    expect(drawn(alarms)).toEqual([]);
  });

  it('remembers that an alarm was resolved as long as any other step, even when it was acknowledged long before', () => {
    const alarms = new OpenAlarms();
    alarms.received(step('1', 'acknowledged'));
    for (let number = 0; number < 2_000; number++) {
      alarms.received(step(`x${number}`, 'acknowledged'));
      if (number === 1_998) alarms.received(step('1', 'resolved'));
    }
    alarms.received(message('alarms', '1'));
    expect(drawn(alarms)).toEqual([]);
  });

  it('has the names of the escalations made, once each, also when the alarm comes again', () => {
    const alarms = new OpenAlarms();
    alarms.received(message('alarms', '1'));
    for (const name of ['nurse', 'nurse', 'manager']) {
      alarms.received(message('escalations', '1', { escalation: { name } }));
    }
    alarms.received(message('escalations', 'another', { escalation: { name: 'nurse' } }));
    alarms.received(message('alarms', '1'));
    expect(drawn(alarms)).toMatchObject([{ escalations: ['nurse', 'manager'] }]);
  });

  it('lists raised falls and help calls first, then other raised alarms, tests, and acknowledged ones, each newest first', () => {
    const alarms = new OpenAlarms();
    const payloads = [
      { kind: 'fall' },
      { kind: 'helpCall' },
      { kind: 'noise' },
      { kind: 'wandering', detectedAt: '2020-01-01T00:00:00Z' },
      { kind: 'fall', test: true },
      { kind: 'fall' },
      { kind: 'noise' },
    ];
    for (const [index, payload] of payloads.entries()) {
      alarms.received(message('alarms', String(index + 1), payload, index));
    }
    for (const id of ['6', '7']) alarms.received(step(id, 'acknowledged'));
    expect(drawn(alarms).map(({ id }) => id)).toEqual(['2', '1', '4', '3', '5', '7', '6']);
  });

  it('keeps the only alarm of a sensor when another sends thousands that are newer', () => {
    const alarms = new OpenAlarms();
    alarms.received(
      message('alarms', 'only', { kind: 'noise', device: { id: 'e', name: 'Door' } }),
    );
    for (let number = 1; number < 1_500; number++) {
      alarms.received(message('alarms', String(number), { kind: 'noise' }, number));
    }
    expect(drawn(alarms).map(({ id }) => id)).toContain('only');
    expect(rowsOf(drawn(alarms))).toHaveLength(2);
  });

  it('keeps a fall when a thousand newer alarms of other kinds are open, and says that it holds not all', () => {
    const alarms = new OpenAlarms();
    alarms.received(message('alarms', 'fall'));
    for (let number = 1; number < 1_500; number++) {
      alarms.received(message('alarms', String(number), { kind: 'noise' }, number));
    }
    expect(drawn(alarms)[0]?.id).toBe('fall');
    expect(drawn(alarms).length).toBeLessThan(1_200);
    expect(alarms.isCut.value).toBe(true);
  });

  it('says that older alarms were not read, until a reading reaches the end', async () => {
    let nextCursor: string | null = 'more';
    vi.stubGlobal('addEventListener', () => undefined);
    vi.stubGlobal('document', { addEventListener: () => undefined });
    answerWith((path) => {
      if (path.startsWith('./care-homes')) return Response.json([HOME]);
      if (path.startsWith('./alarms')) return Response.json({ events: [], nextCursor });
      const open = new TextEncoder().encode('event: open\ndata: {}\n\n');
      return new Response(new ReadableStream({ start: (stream) => stream.enqueue(open) }));
    });
    const alarms = new OpenAlarms();
    const stop = alarms.start();
    live.start('token');
    onTestFinished(() => {
      live.stop();
      stop();
    });
    await vi.waitUntil(() => alarms.isRead.value);
    expect(alarms.isCut.value).toBe(true);
    nextCursor = null;
    alarms.readAgain();
    await vi.waitUntil(() => !alarms.isCut.value);
  });

  it('has one row for equal alarms of a device, the newest first, which moves only after a pause', () => {
    const alarms = new OpenAlarms();
    for (const id of ['1', '2', '3']) alarms.received(message('alarms', id, {}, Number(id)));
    alarms.received(message('alarms', '4', { device: { id: 'e', name: 'Door' } }, 4));
    alarms.received(message('alarms', '5', { kind: 'noise' }, 5));
    const rows = () => rowsOf(drawn(alarms)).map((row) => row.map(({ id }) => id));
    expect(rows()).toEqual([['4'], ['3', '2', '1'], ['5']]);
    alarms.received(step('2', 'acknowledged'));
    expect(rows()).toEqual([['4'], ['3', '1'], ['5'], ['2']]);
    alarms.received(message('alarms', '6', {}, 60_000));
    expect(rows()).toEqual([['4'], ['6', '3', '1'], ['5'], ['2']]);
    alarms.received(message('alarms', '7', {}, 120_001));
    expect(rows()).toEqual([['7', '6', '3', '1'], ['4'], ['5'], ['2']]);
  });

  it('numbers a row the same while one of its alarms is left in it, also when rows become one', () => {
    const alarms = new OpenAlarms();
    const numbers = new RowNumbers();
    const rows = () => numbers.of(rowsOf(drawn(alarms)));
    for (const id of ['1', '2', '3']) alarms.received(message('alarms', id, {}, Number(id)));
    expect(rows()).toEqual([1]);
    alarms.received(step('1', 'acknowledged'));
    expect(rows()).toEqual([1, 2]);
    alarms.received(step('3', 'resolved'));
    expect(rows()).toEqual([1, 2]);
    alarms.received(step('2', 'acknowledged'));
    expect(rows()).toEqual([1]);
    alarms.received(message('alarms', '4', {}, 4));
    expect(rows()).toEqual([3, 1]);
  });

  it('knows no homes of the token before, whenever their list comes', async () => {
    const answers: ((homes: object[]) => void)[] = [];
    vi.stubGlobal(
      'fetch',
      () =>
        new Promise((resolve) => {
          answers.push((homes) => resolve(Response.json(homes)));
        }),
    );
    onTestFinished(() => {
      vi.unstubAllGlobals();
    });
    const alarms = new OpenAlarms();
    const stop = alarms.start();
    await vi.advanceTimersByTimeAsync(5 * 60_000);
    stop();
    const end = alarms.start();
    onTestFinished(end);
    await vi.advanceTimersByTimeAsync(5 * 60_000);
    // The second token asks for itself, and does not wait for the answer to the first.
    expect(answers).toHaveLength(2);
  });
});

describe('a table of devices', () => {
  function devices(text: string) {
    return parseDevices(text).rows.map(({ name, room }) => [name, room]);
  }

  it.each([
    ['commas, without a header', 'Bed 1,Room 7\nBed 2,Room 8'],
    ['semicolons, with a header', 'name;room\nBed 1;Room 7\nBed 2;Room 8\n'],
    ['cells pasted from Excel', 'Name\tZimmer\r\nBed 1\tRoom 7\r\n"Bed 2"\tRoom 8\r\n'],
    [
      'a German header in the other order, and a byte order mark',
      '\uFEFFZimmer;Gerät\r\nRoom 7;Bed 1\r\nRoom 8;Bed 2\r\n',
    ],
    ['further columns behind a header', 'room,id,name\nRoom 7,x,Bed 1\nRoom 8,y,Bed 2'],
    ['empty lines and spaces', '\n Bed 1 ; Room 7 \n;;\n\nBed 2;Room 8;'],
  ])('reads names and rooms with %s', (_, text) => {
    expect(devices(text)).toEqual([
      ['Bed 1', 'Room 7'],
      ['Bed 2', 'Room 8'],
    ]);
  });

  it('reads quoted cells with separators and quotation marks', () => {
    const text = '"Bed ""A"", left";"Room; 7"\nBed 2;\n"""Bed"" 3";';
    expect(devices(text)).toEqual([
      ['Bed "A", left', 'Room; 7'],
      ['Bed 2', ''],
      ['"Bed" 3', ''],
    ]);
    expect(parseDevices(text).rows.flatMap(({ faults }) => faults)).toEqual([]);
  });

  it('reports what is wrong with each line, by its number in the table', () => {
    const text = `name,room\n,Room 7\n${'x'.repeat(121)},Room 7\nA,B,C,D\nA,b\u202ac\nOK,Room 7\n"open`;
    const faults = parseDevices(text).rows.map((row) => [row.line, row.state, ...row.faults]);
    expect(faults).toEqual([
      [2, 'fault', 'name-missing'],
      [3, 'fault', 'too-long'],
      [4, 'fault', 'too-many-cells'],
      [5, 'fault', 'invalid'],
      [6, 'new'],
      [7, 'fault', 'unclosed-quote'],
    ]);
  });

  it('reads groups and custom data by column, checks them, and names the columns that it leaves out', () => {
    const text = [
      'name;room;group;customData;serial',
      'Bed 1;Room 7;Upper floor;"{""bed"":1}";x',
      'Bed 2;;Upper floor;;',
      'Bed 3;Room 7;;[1];',
      `Bed 4;Room 7;;"{""text"":""${'x'.repeat(1_024)}""}";`,
    ].join('\n');
    const { rows, unknownColumns } = parseDevices(text);
    expect(unknownColumns).toEqual(['serial']);
    expect(rows[0]).toMatchObject({ group: 'Upper floor', customData: '{"bed":1}', faults: [] });
    expect(rows.slice(1).map(({ faults }) => faults)).toEqual([
      ['group-without-room'],
      ['custom-data-invalid'],
      ['custom-data-too-large'],
    ]);
  });

  it('notes what an earlier line and the home have, and what contradicts them', () => {
    const home: Home = {
      location: { id: 'home', name: 'Haus', devices: [] },
      groups: [{ id: 'g', name: 'Nord', rooms: [] }],
      rooms: [
        { id: '1', name: '1', groupId: null, devices: [] },
        { id: '2', name: '2', groupId: 'g', devices: [] },
        { id: '3', name: '2', groupId: null, devices: [] },
      ],
      devices: [device('A', '1')],
    };
    const text = 'name,room,group\nA,1,Nord\nA,1,Nord\nB,9,Ost\nC,9,Nord\nD,2,';
    const rows = comparedRows(parseDevices(text).rows, home);
    expect(rows.map(({ faults, notes }) => [...faults, ...notes])).toEqual([
      ['existing', 'room-grouped'],
      ['repeated', 'existing', 'room-grouped'],
      ['room-new', 'group-new'],
      ['room-in-other-group', 'room-new'],
      ['room-ambiguous'],
    ]);
  });

  it('counts 120 characters as characters, whatever their size', () => {
    expect(parseDevices('😀'.repeat(120)).rows[0]?.faults).toEqual([]);
  });

  it('writes an apostrophe before cells that a spreadsheet would run as formulas', () => {
    const rows = [
      ['=1+1', '+1', '-1', '@x'],
      ['a;b', 'say "x"', 'plain', ''],
    ];
    expect(csvText(rows, ';')).toBe(
      `\uFEFF"'=1+1";"'+1";"'-1";"'@x"\r\n"a;b";"say ""x""";plain;\r\n`,
    );
  });

  it.each([
    ['Windows-1252', [0x54, 0xfc, 0x72]],
    ['UTF-8', [0x54, 0xc3, 0xbc, 0x72]],
    ['UTF-8 with a mark', [0xef, 0xbb, 0xbf, 0x54, 0xc3, 0xbc, 0x72]],
    ['UTF-16, little-endian', [0xff, 0xfe, 0x54, 0, 0xfc, 0, 0x72, 0]],
    ['UTF-16, big-endian', [0xfe, 0xff, 0, 0x54, 0, 0xfc, 0, 0x72]],
  ])('reads a file in %s', (_, bytes) => {
    expect(decodeTable(new Uint8Array(bytes))).toBe('Tür');
  });
});

function device(name: string, roomId: string | null = null, more: Partial<Device> = {}): Device {
  const about = { locationId: 'home', online: false, lastSeenAt: null, createdAt: '' };
  return { ...about, id: name, name, roomId, ...more };
}

describe('the presence of a device', () => {
  const [early, late] = ['2026-11-25T10:00:00Z', '2026-11-25T10:18:00Z'];
  const hub = { id: 'h', name: 'Hub' };

  it.each([
    ['never heard', {}, undefined, ['never', undefined, undefined]],
    ['as it was listed', { lastSeenAt: early }, undefined, ['offline', undefined, undefined]],
    [
      'offline, which a status says after it was last heard',
      { lastSeenAt: early, online: true },
      { online: false, since: late, via: undefined },
      ['offline', undefined, late],
    ],
    [
      'offline, but heard after that',
      { lastSeenAt: late, via: hub },
      { online: false, since: early, via: undefined },
      ['offline', 'Hub', undefined],
    ],
    [
      'online through its hub since then',
      { lastSeenAt: late },
      { online: true, since: early, via: hub },
      ['online', 'Hub', early],
    ],
    [
      'online by itself, no longer through the hub',
      { lastSeenAt: late, via: hub },
      { online: true, since: late, via: undefined },
      ['online', undefined, late],
    ],
  ])('is %s', (_, listed, status, expected) => {
    const { state, via, since } = presenceOf(device('A', null, listed), status);
    expect([state, via?.name, since]).toEqual(expected);
  });
});

describe('time ago', () => {
  const NOW_MS = Date.parse('2026-11-25T10:00:00Z');

  /** Counted in whole days, Monday at eleven is one day ago on Wednesday at ten, and not yesterday. */
  it('counts days, and never names one', () => {
    const mondayMs = Date.parse('2026-11-23T11:00:00Z');
    expect(ago(mondayMs, NOW_MS)).toBe('1 day ago');
    expect(ago(NOW_MS, NOW_MS)).toBe('0 sec. ago');
    speak('de');
    expect(ago(mondayMs, NOW_MS)).toBe('vor 1 Tag');
  });
});

describe('words of the gateway page', () => {
  const LANGUAGES = ['en', 'de'] as const;

  describe('the words of the gateway page', () => {
    it('cover every action, every denial, every reason and every failure of a bridge', () => {
      expect(Object.keys(actionNames()).sort()).toEqual([...AUDIT_ACTIONS].sort());
      expect(Object.keys(reasonTexts()).sort()).toEqual([...INVALID_PUBLISH_REASONS].sort());
      expect(Object.keys(subjectNames())).toEqual([...FAULT_SUBJECTS]);
      expect(Object.keys(failureNames()).sort()).toEqual(Object.keys(FAILURES).sort());
      for (const [kind, { fault }] of Object.entries(FAILURES)) {
        for (const chosen of LANGUAGES) {
          speak(chosen);
          const { message } = faultWords({ name: fault, values: {} }, chosen);
          expect(message.toLowerCase()).toContain(failureNames()[kind]?.toLowerCase());
        }
      }
      expect(Object.keys(DENIED_DE).sort()).toEqual(Object.keys(DENIED_REASONS).sort());
    });

    it.each(Object.entries(DENIED_REASONS))('name the same limits for %s', (code, english) => {
      const limitsOf = (text = '') => text.match(/\blimits[.\w]*\w|LimitNOFILE|\d[\d.]*/g);
      // English groups digits by commas.
      const said = english.replaceAll(/(?<=\d),(?=\d)/g, '.');
      expect(limitsOf(DENIED_DE[code])).toEqual(limitsOf(said));
    });

    it('name no route of the HTTP interface', () => {
      const advice = Object.values(FAULTS).flatMap(({ texts }) => texts);
      expect(advice.filter((text) => /\b(GET|POST|PATCH|DELETE) \//.test(text))).toEqual([]);
    });
  });
});

it('a home shows devices and rooms whose room or group is missing', () => {
  const room = (name: string, groupId: string | null): Room => {
    return { id: name, name, groupId, devices: [] };
  };
  const home: Home = {
    location: { id: 'home', name: 'Haus', devices: [] },
    groups: [],
    rooms: [room('1', null), room('2', 'lost')],
    devices: [device('A', '1'), device('B', '2'), device('C', 'lost'), device('D', null)],
  };
  const { groups, loose } = homeTree(home, { search: '', shows: undefined, maxDevices: 10 });
  const ids = (devices: readonly Device[]) => devices.map(({ id }) => id).join();
  expect(groups.map(({ rooms }) => rooms.map(({ devices }) => ids(devices)))).toEqual([['A', 'B']]);
  expect(ids(loose)).toBe('C,D');
});

describe('German words', () => {
  interface Pair {
    readonly en: string;
    readonly de: string;
  }

  const CONSOLE = new URL('../../src/console/', import.meta.url);
  /** What a gateway or broker acknowledges (bestätigt); people acknowledge (quittieren) alarms and faults. */
  const OF_OTHERS = /\bdestinations\.tsx$/;
  const TEXT = String.raw`('(?:[^'\\]|\\.)*'|\`(?:[^\`\\]|\\.)*\`)`;
  const PAIR = new RegExp(String.raw`\bt\(\s*${TEXT},\s*${TEXT},?\s*\)`, 'g');

  /** The texts of the console in pairs: what stands in `t('…', '…')`, its values as 1. */
  function pairsOf(files: readonly string[]): Pair[] {
    return files.flatMap((file) => {
      const source = readFileSync(new URL(file, CONSOLE), 'utf8');
      const textOf = (quoted = '') => quoted.slice(1, -1).replaceAll(/\$\{[^}]*\}/g, '1');
      return [...source.matchAll(PAIR)].map(([, en, de]) => ({ en: textOf(en), de: textOf(de) }));
    });
  }

  const sources = readdirSync(CONSOLE, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /\.tsx?$/.test(file),
  );
  const pairs = pairsOf(sources.filter((file) => !OF_OTHERS.test(file))).filter(
    // A publish of a device.
    ({ en }) => !/it was acknowledged, and became no alarm/.test(en),
  );

  it.each([
    [/\backnowledge/i, /quittier/i],
    [/\bresolve/i, /erledig/i],
    [/\braised?$/i, /ausgelöst/i],
    [/\bsecrets?\b/i, /Geheimnis/],
    [/\baccess tokens?\b/i, /Zugangstoken/],
    [/\bcustom data\b/i, /[Ee]igene Daten/],
  ])('uses the same German word wherever the English has %s', (english, german) => {
    const found = pairs.filter(({ en }) => english.test(en));
    expect(found.length).toBeGreaterThan(0);
    expect(found.filter(({ de }) => !german.test(de))).toEqual([]);
  });

  it('says “confirm” in German for acknowledging anything but an alarm', () => {
    const texts = pairsOf(sources.filter((file) => OF_OTHERS.test(file)));
    const found = texts.filter(({ en }) => /\backnowledge/i.test(en));
    expect(found.length).toBeGreaterThan(0);
    expect(found.filter(({ de }) => !/bestätig/i.test(de))).toEqual([]);
  });
});
