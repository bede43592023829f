/** The console without a browser: its counts, searches, CSV, clock, and words in both languages. */

import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { FAILURES } from '../../src/bridge/failures.js';
import { DENIED_REASONS } from '../../src/broker/connection-list.js';
import type { Device, Room } from '../../src/console/api.js';
import { type Home, homeTree, presenceOf } from '../../src/console/home/home.js';
import { comparedRows, decodeTable, parseDevices } from '../../src/console/home/import.js';
import { ago, type Language, language } from '../../src/console/language.js';
import { GatewayClock } from '../../src/console/live.js';
import { alarmOfMessage, type OpenAlarm } from '../../src/console/pages/board/open-alarm.js';
import { OpenAlarms } from '../../src/console/pages/board/open-alarms.js';
import { actionNames } from '../../src/console/pages/gateway/audit/audit-filters.js';
import { DENIED_DE } from '../../src/console/pages/gateway/connections/denied-list.js';
import { failureNames } from '../../src/console/pages/gateway/destinations/bridges-part.js';
import { subjectNames } from '../../src/console/pages/gateway/overview/overview-part.js';
import { reasonTexts } from '../../src/console/pages/gateway/overview/rejected-list.js';
import { readPage } from '../../src/console/pages/history/alarm-pages.js';
import { readCounts } from '../../src/console/pages/history/chart/alarm-counts.js';
import { SpreadsheetCsv } from '../../src/console/pages/history/csv/spreadsheet-csv.js';
import { isFound, parseSearch } from '../../src/console/pages/history/history-search.js';
import { exactJson, parseExactJson, plainText } from '../../src/console/request.js';
import { csvText } from '../../src/console/ui/handover.js';
import { INVALID_PUBLISH_REASONS } from '../../src/domain/alarm.js';
import { FAULT_SUBJECTS, faultWords } from '../../src/domain/fault.js';
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

  const search = {
    locationId: 'l',
    roomId: '',
    deviceId: '',
    kinds: [],
    states: [],
    isWithoutTests: false,
    fromMs: undefined,
    toMs: undefined,
  };
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
    const { unit, buckets, hoursFit, isCut } = await readCounts(search, undefined, NOW_MS);
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
    expect((await readCounts(search, undefined, NOW_MS)).unit).toBe('hour');
    expect((await readCounts(search, 'day', NOW_MS)).unit).toBe('day');
  });

  it('covers the newest part of a period that is too long', async () => {
    counted = { day: [bucket(NOW_MS - DAY_MS, { noise: 1 })] };
    const long = { ...search, fromMs: NOW_MS - 500 * DAY_MS, toMs: NOW_MS };
    expect(await readCounts(long, 'hour', NOW_MS)).toMatchObject({ isCut: true, unit: 'day' });
    const after = Date.parse(asked[0]?.get('after') ?? '');
    expect(after).toBe(NOW_MS - 399 * DAY_MS - 1);
  });

  it('includes alarms of unknown kinds from a newer gateway in the total', async () => {
    counted = { day: [bucket(NOW_MS - 30 * DAY_MS, { fall: 1, flood: 2 })] };
    const { buckets } = await readCounts(search, undefined, NOW_MS);
    expect(buckets).toMatchObject([{ total: 3, byKind: { fall: 1 } }]);
  });
});

describe('pages of alarms', () => {
  it('returns no page of a search that was abandoned while the answer was being read', async () => {
    const stopping = new AbortController();
    answerWith(() => {
      stopping.abort();
      return Response.json({ nextCursor: null, events: [] });
    });
    const search = {
      locationId: 'l',
      roomId: '',
      deviceId: '',
      kinds: [],
      states: [],
      isWithoutTests: false,
      fromMs: undefined,
      toMs: undefined,
    };
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
  function alarm() {
    const found = alarmOfMessage(
      {
        topic: 'care-homes/home/devices/bed/alarms/fall',
        retained: false,
        isRecorded: true,
        payload: {
          id: 'a',
          kind: 'fall',
          detectedAt: AT,
          receivedAt: AT,
          test: true,
          device: { id: 'bed', name: 'Bed' },
          location: { id: 'home', name: 'Home' },
          room: { id: 'room', name: 'Room' },
          group: null,
          customData: {},
        },
      },
      Date.parse(AT),
    );
    if (found === undefined) throw new Error('no alarm');
    return found;
  }

  it.each([
    ['', true],
    ['room=room&device=bed&kinds=noise,fall&state=raised', true],
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
    expect(isFound(search, alarm())).toBe(expected);
    expect(isFound({ ...search, locationId: 'elsewhere' }, alarm())).toBe(false);
  });
});

describe('open alarms', () => {
  const AT_MS = Date.parse('2026-01-02T20:00:00Z');
  const at = '2026-01-02T20:00:05Z';
  const acknowledged = {
    key: 'd/1',
    state: 'acknowledged',
    by: 'Mia',
    at,
    note: 'on my way',
  } as const;
  const resolved = { ...acknowledged, state: 'resolved' } as const;

  /** An alarm as on a page of the history. */
  function alarm(): OpenAlarm {
    return {
      key: 'd/1',
      id: '1',
      kind: 'fall',
      detectedAt: '2026-01-02T20:00:00Z',
      detectedAtMs: AT_MS,
      receivedAtMs: AT_MS,
      knownAtMs: AT_MS,
      isLate: false,
      isTest: false,
      escalations: [],
      isLive: false,
      isRecorded: true,
      recordings: [],
      device: { id: 'd', name: 'Bed' },
      location: { id: 'l', name: 'Home' },
      room: null,
      group: null,
      customData: {},
      state: 'raised',
      acknowledged: undefined,
      note: undefined,
    };
  }

  it('keeps a state that arrived while the page with the alarm was on its way', () => {
    const alarms = new OpenAlarms();
    alarms.change(acknowledged);
    alarms.add(alarm());
    expect(alarms.inOrder()).toMatchObject([
      { state: 'acknowledged', acknowledged: { by: 'Mia', at }, note: 'on my way' },
    ]);
    alarms.change(resolved);
    alarms.add(alarm());
    alarms.change(acknowledged);
    expect(alarms.inOrder()).toEqual([]);
  });

  it('remembers that an alarm was resolved as long as any other change, even when it was acknowledged long before', () => {
    const alarms = new OpenAlarms();
    alarms.change(acknowledged);
    for (let number = 0; number < 2_000; number++) {
      alarms.change({ ...acknowledged, key: `d/x${number}` });
      if (number === 1_998) alarms.change(resolved);
    }
    alarms.add(alarm());
    expect(alarms.inOrder()).toEqual([]);
  });

  /** Open alarms, received a millisecond apart: more than the board holds. */
  function manyAlarms(count: number): OpenAlarms {
    const alarms = new OpenAlarms();
    for (let number = 0; number < count; number++) {
      alarms.add({ ...alarm(), key: `d/${number}`, receivedAtMs: AT_MS + number });
    }
    return alarms;
  }

  function counted(alarms: OpenAlarms): number {
    return alarms.inOrder().length + alarms.notHeld;
  }

  it('counts an alarm that is not held as resolved once, however often it is reported', () => {
    const alarms = manyAlarms(1_200);
    expect(counted(alarms)).toBe(1_200);
    // From the answer to the button, and from the stream; the other alarm is the newest, which is held.
    for (const key of ['d/0', 'd/0', 'd/1199', 'd/1199']) alarms.change({ ...resolved, key });
    expect(counted(alarms)).toBe(1_198);
  });

  it('says that older alarms were not read, until a reading reaches the end', () => {
    const alarms = new OpenAlarms();
    const reading = { locationId: 'l', keys: new Set<string>(), fromMs: AT_MS, isCut: true };
    alarms.endReading(alarms.keys(), [reading, { ...reading, isCut: false }]);
    expect(alarms.isHistoryCut).toBe(true);
    alarms.endReading(alarms.keys(), [{ ...reading, isCut: false }]);
    expect(alarms.isHistoryCut).toBe(false);
  });

  it('has the names of the escalations made, from the history and live', () => {
    const alarms = new OpenAlarms();
    const escalations = () => alarms.inOrder().map((one) => one.escalations);
    alarms.add({ ...alarm(), escalations: ['nurse'] });
    const { key } = alarm();
    expect(alarms.escalated({ key, name: 'nurse' })).toBe(false);
    expect(alarms.escalated({ key, name: 'manager' })).toBe(true);
    expect(alarms.escalated({ key: 'of/another', name: 'nurse' })).toBe(false);
    expect(escalations()).toEqual([['nurse', 'manager']]);
    alarms.add(alarm());
    expect(escalations()).toEqual([['nurse', 'manager']]);
  });

  it('lists raised falls and help calls first, then other raised alarms, tests, and acknowledged ones, each newest first', () => {
    const alarms = new OpenAlarms();
    const add = (key: string, change: Partial<OpenAlarm>) =>
      alarms.add({ ...alarm(), key, receivedAtMs: AT_MS + Number(key), ...change });
    add('1', { kind: 'fall' });
    add('2', { kind: 'helpCall' });
    add('3', { kind: 'noise' });
    add('4', { kind: 'wandering', detectedAtMs: 0 });
    add('5', { kind: 'fall', isTest: true });
    add('6', { kind: 'fall', state: 'acknowledged' });
    add('7', { kind: 'noise', state: 'acknowledged' });
    expect(
      alarms
        .inOrder()
        .map(({ key }) => key)
        .join(),
    ).toBe('2,1,4,3,5,7,6');
  });

  it('keeps a fall when a thousand newer alarms of other kinds are open', () => {
    const alarms = new OpenAlarms();
    alarms.add({ ...alarm(), key: 'd/fall' });
    for (let number = 1; number < 1_500; number++) {
      alarms.add({ ...alarm(), kind: 'noise', key: `d/${number}`, receivedAtMs: AT_MS + number });
    }
    expect(alarms.inOrder()[0]?.key).toBe('d/fall');
    expect(counted(alarms)).toBe(1_500);
  });

  it('stays resolved when the acknowledgement arrives later', () => {
    const alarms = new OpenAlarms();
    alarms.change(resolved);
    alarms.change(acknowledged);
    alarms.add(alarm());
    expect(alarms.inOrder()).toEqual([]);
  });
});

describe('the CSV of a spreadsheet', () => {
  const HEADER = 'id,deviceName,roomId,data\r\n';
  const RECORDS = [
    '1,"Bett ""am Fenster"", 1",r1,"{""note"":""a,\r\nb""}"\r\n',
    '2,Bett 2,r2,\r\n',
    '3,r1,,\r\n',
    '4,,r1,\r\n',
  ];

  async function written(pieces: readonly string[], separator: string): Promise<string> {
    const sent = new ReadableStream<string>({
      start(controller) {
        for (const piece of pieces) controller.enqueue(piece);
        controller.close();
      },
    });
    const reader = sent.pipeThrough(new SpreadsheetCsv(separator)).getReader();
    for (let text = ''; ; ) {
      const { done, value } = await reader.read();
      if (done) return text;
      text += value;
    }
  }

  it('keeps the header and the records unchanged after a byte order mark, in whatever pieces they arrive', async () => {
    const text = HEADER + RECORDS.join('');
    for (const pieces of [
      [text],
      [...text],
      [text.slice(0, 50), text.slice(50, 71), text.slice(71)],
    ]) {
      expect(await written(pieces, ',')).toBe(`\uFEFF${text}`);
    }
  });

  it('uses the separators of a German spreadsheet, and has nothing run as a formula', async () => {
    const text = 'id,roomId,note\r\n1,r1,=1+1\r\n4,r1,＝1+1\r\n2,r1,"a;b, c"\r\n3,r1,"a, b"\r\n';
    expect(await written([text], ';')).toBe(
      `\uFEFFid;roomId;note\r\n1;r1;"'=1+1"\r\n4;r1;"'＝1+1"\r\n2;r1;"a;b, c"\r\n3;r1;a, b\r\n`,
    );
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
  const OF_OTHERS = /\bbridges-part\.tsx$/;
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
