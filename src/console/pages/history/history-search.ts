import type { AlarmState } from '../../api.js';
import type { OpenAlarm } from '../../board/alarm.js';
import { KINDS, type Kind } from '../../kinds.js';
import { ALARM_STATES } from './alarm-states.js';

/** Instead of the id of a home: all that the token may see. */
export const ALL_HOMES = '*';

/** Which alarms to look for. */
export interface AlarmSearch {
  /** Of a home, or `ALL_HOMES`. */
  readonly locationId: string;
  /** Empty: everywhere. */
  readonly roomId: string;
  /** Empty: every device. */
  readonly deviceId: string;
  /** Empty: all. */
  readonly kinds: readonly Kind[];
  /** Empty: all. */
  readonly states: readonly AlarmState[];
  /** Whether to omit tests and drills. */
  readonly isWithoutTests: boolean;
  /** The start, inclusive; undefined: from the first alarm on. */
  readonly fromMs: number | undefined;
  /** The end, exclusive; undefined: up to now. */
  readonly toMs: number | undefined;
}

/** Reads a search from the query of an address; ignores what it cannot read. */
export function parseSearch(query: URLSearchParams): AlarmSearch {
  return {
    locationId: query.get('location') ?? '',
    roomId: query.get('room') ?? '',
    deviceId: query.get('device') ?? '',
    kinds: chosen(KINDS, query.get('kinds')),
    states: chosen(ALARM_STATES, query.get('state')),
    isWithoutTests: query.get('test') === 'false',
    fromMs: parseTime(query.get('from')),
    toMs: parseTime(query.get('to')),
  };
}

/** The search as the query of an address that leads to the same alarms in every time zone. */
export function searchQuery(search: AlarmSearch): Record<string, string> {
  const { locationId, roomId, deviceId, kinds, states, isWithoutTests, fromMs, toMs } = search;
  const entries = {
    location: locationId,
    room: roomId,
    device: deviceId,
    kinds: kinds.join(','),
    state: states.join(','),
    test: isWithoutTests ? 'false' : '',
    from: fromMs === undefined ? '' : timeWithOffset(fromMs),
    to: toMs === undefined ? '' : timeWithOffset(toMs),
  };
  return Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== ''));
}

/** Whether the search finds a new alarm. */
export function isFound(search: AlarmSearch, alarm: OpenAlarm): boolean {
  const { locationId, roomId, deviceId, kinds, states, isWithoutTests, fromMs, toMs } = search;
  return (
    (locationId === ALL_HOMES || alarm.location.id === locationId) &&
    (roomId === '' || alarm.room?.id === roomId) &&
    (deviceId === '' || alarm.device.id === deviceId) &&
    (kinds.length === 0 || kinds.some((kind) => kind === alarm.kind)) &&
    (states.length === 0 || states.includes(alarm.state)) &&
    !(isWithoutTests && alarm.isTest) &&
    alarm.detectedAtMs >= (fromMs ?? Number.NEGATIVE_INFINITY) &&
    alarm.detectedAtMs < (toMs ?? Number.POSITIVE_INFINITY)
  );
}

/** Whether anything but the home and the times narrows the search. */
export function isNarrowed(search: AlarmSearch): boolean {
  const { roomId, deviceId, kinds, states, isWithoutTests } = search;
  return [roomId, deviceId, ...kinds, ...states].some((one) => one !== '') || isWithoutTests;
}

/** RFC 3339 in the browser's time zone: `2026-11-22T20:00:00.000+01:00`. */
export function timeWithOffset(timeMs: number): string {
  // Whole minutes: until the railways came, every town had its own time, with seconds.
  const minutes = -Math.round(new Date(timeMs).getTimezoneOffset());
  const distance = Math.abs(minutes);
  const offset = `${twoDigits(Math.floor(distance / 60))}:${twoDigits(distance % 60)}`;
  const local = new Date(timeMs + minutes * 60_000).toISOString().slice(0, -1);
  return `${local}${minutes < 0 ? '-' : '+'}${offset}`;
}

/**
 * A time for an `<input type="datetime-local">`, in the browser's time zone.
 *
 * It is exact to the typed minute, even in the year 2: that is how typing a year starts, and a different text
 * would interrupt the typing.
 */
export function localText(timeMs: number | undefined): string {
  if (timeMs === undefined) return '';
  const time = new Date(timeMs);
  const day = [time.getMonth() + 1, time.getDate()].map(twoDigits).join('-');
  const year = String(time.getFullYear()).padStart(4, '0');
  return `${year}-${day}T${[time.getHours(), time.getMinutes()].map(twoDigits).join(':')}`;
}

/** The time typed into such an input; undefined if there is none. */
export function parseTime(text: string | null): number | undefined {
  const timeMs = text === null || text === '' ? Number.NaN : Date.parse(text);
  return Number.isNaN(timeMs) ? undefined : timeMs;
}

/** From yesterday 20:00 to today 07:00: the shift whose handover is in the morning. */
export function lastNight(nowMs: number): { readonly fromMs: number; readonly toMs: number } {
  const now = new Date(nowMs);
  const [year, month, day] = [now.getFullYear(), now.getMonth(), now.getDate()];
  return {
    fromMs: new Date(year, month, day - 1, 20).getTime(),
    toMs: new Date(year, month, day, 7).getTime(),
  };
}

function chosen<Value extends string>(values: readonly Value[], text: string | null): Value[] {
  const wanted = text?.split(',') ?? [];
  return values.filter((value) => wanted.includes(value));
}

function twoDigits(number: number): string {
  return String(number).padStart(2, '0');
}
