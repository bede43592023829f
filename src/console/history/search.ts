/**
 * Which alarms the history looks for: as the address has it, as the gateway is asked for it, and whether a new alarm is
 * one of them. A link shows the same alarms to everybody, in every time zone.
 */

import type { AlarmState, CountQuery } from '../api.js';
import { KINDS, type Kind } from '../kinds.js';
import type { LiveMessage } from '../live.js';
import { recordOf } from '../request.js';
import { ALL_HOMES } from '../session.js';

/** In the order in which an alarm goes through them. */
export const ALARM_STATES: readonly AlarmState[] = ['raised', 'acknowledged', 'resolved'];

/** What an empty text or list leaves out is not looked at. */
export interface AlarmSearch {
  /** Of a home, or `ALL_HOMES`. */
  readonly locationId: string;
  readonly groupId: string;
  readonly roomId: string;
  readonly deviceId: string;
  readonly kinds: readonly Kind[];
  readonly states: readonly AlarmState[];
  /** Whether to omit tests and drills. */
  readonly isWithoutTests: boolean;
  /** The start, inclusive; undefined: from the first alarm on. */
  readonly fromMs: number | undefined;
  /** The end, exclusive; undefined: up to now. */
  readonly toMs: number | undefined;
}

const ANY_PLACE = { groupId: '', roomId: '', deviceId: '' };
export const ANY_ALARM = { ...ANY_PLACE, kinds: [], states: [], isWithoutTests: false };
export const ANY_TIME = { fromMs: undefined, toMs: undefined };

/** How many filters besides the home and the time narrow the search. */
export function filterCount(search: AlarmSearch): number {
  const { groupId, roomId, deviceId, kinds, states, isWithoutTests } = search;
  const ids = [groupId, roomId, deviceId].filter((id) => id !== '');
  return ids.length + kinds.length + states.length + (isWithoutTests ? 1 : 0);
}

export function hasTime({ fromMs, toMs }: AlarmSearch): boolean {
  return fromMs !== undefined || toMs !== undefined;
}

/** The same search of another home, whose groups, rooms and devices are others. */
export function inHome(search: AlarmSearch, locationId: string): AlarmSearch {
  return { ...search, ...ANY_PLACE, locationId };
}

/** Reads a search from the query of an address; ignores what it cannot read. */
export function parseSearch(query: URLSearchParams): AlarmSearch {
  return {
    locationId: query.get('location') ?? '',
    groupId: query.get('group') ?? '',
    roomId: query.get('room') ?? '',
    deviceId: query.get('device') ?? '',
    kinds: chosen(KINDS, query.get('kinds')),
    states: chosen(ALARM_STATES, query.get('state')),
    isWithoutTests: query.get('test') === 'false',
    fromMs: parseTime(query.get('from')),
    toMs: parseTime(query.get('to')),
  };
}

function chosen<Value extends string>(values: readonly Value[], text: string | null): Value[] {
  const wanted = text?.split(',') ?? [];
  return values.filter((value) => wanted.includes(value));
}

/** The search as the query of an address. */
export function searchQuery(search: AlarmSearch): Record<string, string> {
  const { fromMs, toMs } = search;
  const entries = {
    location: search.locationId,
    group: search.groupId,
    room: search.roomId,
    device: search.deviceId,
    kinds: search.kinds.join(','),
    state: search.states.join(','),
    test: search.isWithoutTests ? 'false' : '',
    from: fromMs === undefined ? '' : timeWithOffset(fromMs),
    to: toMs === undefined ? '' : timeWithOffset(toMs),
  };
  return Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== ''));
}

/** What to ask the gateway for. */
export function alarmQuery(search: AlarmSearch): CountQuery {
  const { groupId, roomId, deviceId, kinds, states, isWithoutTests, fromMs, toMs } = search;
  return {
    ...(groupId !== '' && { group: [groupId] }),
    ...(roomId !== '' && { room: [roomId] }),
    ...(deviceId !== '' && { device: [deviceId] }),
    ...(kinds.length > 0 && { kinds }),
    ...(states.length > 0 && { state: states }),
    ...(isWithoutTests && { test: 'false' as const }),
    // The gateway's bounds are exclusive.
    ...(fromMs !== undefined && { after: timeWithOffset(fromMs - 1) }),
    ...(toMs !== undefined && { before: timeWithOffset(toMs) }),
  };
}

/** Whether a forwarded message is a new alarm that the search finds. */
export function isFound(search: AlarmSearch, { topic, isRecorded, payload }: LiveMessage): boolean {
  const { locationId, groupId, roomId, deviceId, kinds, states, fromMs, toMs } = search;
  const [, location, , device, sort, kind] = topic.split('/');
  if (sort !== 'alarms' || !isRecorded) return false;
  const { group, room, test, detectedAt } = payload;
  const atMs = Date.parse(String(detectedAt));
  return (
    (locationId === ALL_HOMES || location === locationId) &&
    (groupId === '' || recordOf(group)['id'] === groupId) &&
    (roomId === '' || recordOf(room)['id'] === roomId) &&
    (deviceId === '' || device === deviceId) &&
    (kinds.length === 0 || kinds.some((one) => one === kind)) &&
    (states.length === 0 || states.includes('raised')) &&
    !(search.isWithoutTests && test === true) &&
    atMs >= (fromMs ?? Number.NEGATIVE_INFINITY) &&
    atMs < (toMs ?? Number.POSITIVE_INFINITY)
  );
}

/** RFC 3339 in the browser's time zone: `2026-11-22T20:00:00.000+01:00`. */
function timeWithOffset(timeMs: number): string {
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

function twoDigits(number: number): string {
  return String(number).padStart(2, '0');
}
