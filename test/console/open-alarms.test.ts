import { expect, it } from 'vitest';
import type { OpenAlarm } from '../../src/console/pages/board/open-alarm.js';
import { OpenAlarms } from '../../src/console/pages/board/open-alarms.js';

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
