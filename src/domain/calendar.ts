/** Hours and days of a time zone across changes of its clocks, and what takes place once a day: drills, backups. */

import { z } from 'zod';
import { chosenLocations } from './config-keys.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const OFFSET = /([+-])(\d\d):(\d\d)(?::(\d\d))?$/;
const TIME_OF_DAY = /^([01]\d|2[0-3]):([0-5]\d)$/;

export const CALENDAR_UNITS = ['hour', 'day'] as const;
export type CalendarUnit = (typeof CALENDAR_UNITS)[number];

/** The clocks of a time zone of IANA's database. */
export class TimeZone {
  readonly #format: Intl.DateTimeFormat;

  /** @throws RangeError when there is no such time zone */
  constructor(name: string) {
    this.#format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' });
  }

  /** The beginning of the hour or day that the time falls into. */
  startOf(unit: CalendarUnit, timeMs: number): number {
    if (unit === 'day') return this.#startOfDay(this.#localMs(timeMs));
    return timeMs - modulo(this.#localMs(timeMs), HOUR_MS);
  }

  /** The beginning of the next hour or day. A change of the clocks makes days, and rarely hours, longer or shorter. */
  startOfNext(unit: CalendarUnit, timeMs: number): number {
    if (unit === 'day') return this.#startOfDay(this.#localMs(timeMs) + DAY_MS);
    return timeMs + HOUR_MS - modulo(this.#localMs(timeMs), HOUR_MS);
  }

  /**
   * When the clocks show a time of day, on the day that the time falls into.
   *
   * @param sinceMidnightMs what the clocks show
   */
  timeOfDay(timeMs: number, sinceMidnightMs: number): number {
    const localMs = this.#localMs(timeMs);
    return this.#whenShown(localMs - modulo(localMs, DAY_MS) + sinceMidnightMs);
  }

  /** What the clocks show: `2026-11-28 11:59:37`. */
  textOf(timeMs: number): string {
    return new Date(this.#localMs(timeMs)).toISOString().slice(0, 19).replace('T', ' ');
  }

  #startOfDay(localMs: number): number {
    return this.#whenShown(localMs - modulo(localMs, DAY_MS));
  }

  /** When the clocks first show a local time; if they skip it, when they would have shown it without the skip. */
  #whenShown(localMs: number): number {
    const before = localMs - this.#offsetMs(localMs - DAY_MS);
    const after = localMs - this.#offsetMs(localMs + DAY_MS);
    const [first, second] = [Math.min(before, after), Math.max(before, after)];
    return [first, second].find((timeMs) => this.#localMs(timeMs) === localMs) ?? before;
  }

  /** The local time of the zone, counted as if it were UTC. */
  #localMs(timeMs: number): number {
    return timeMs + this.#offsetMs(timeMs);
  }

  /** From `GMT+05:30`, from `GMT` for none, and with seconds before there were time zones. */
  #offsetMs(timeMs: number): number {
    const parts = this.#format.formatToParts(timeMs);
    const { value = '' } = parts.find(({ type }) => type === 'timeZoneName') ?? {};
    const [, sign, hours = 0, minutes = 0, seconds = 0] = OFFSET.exec(value) ?? [];
    const ms = Number(hours) * HOUR_MS + Number(minutes) * MINUTE_MS + Number(seconds) * 1000;
    return sign === '-' ? -ms : ms;
  }
}

/** Divides the time between two moments at each beginning of an hour or day; undefined for too many parts. */
export function calendarBounds(
  zone: TimeZone,
  unit: CalendarUnit,
  fromMs: number,
  toMs: number,
  maxParts: number,
): number[] | undefined {
  const bounds = [zone.startOf(unit, fromMs)];
  for (let lastMs = bounds[0] ?? fromMs; lastMs < toMs; ) {
    if (bounds.length > maxParts) return undefined;
    lastMs = zone.startOfNext(unit, lastMs);
    bounds.push(lastMs);
  }
  return bounds;
}

/** The keys of what takes place once a day. */
export const dailyKeys = {
  at: z
    .string()
    .regex(TIME_OF_DAY, 'must be a time of day, such as "03:30"')
    .meta({
      description: 'the time of day: once on each day, also when the clocks change',
      examples: ['03:30'],
    }),
  timeZone: z
    .string()
    .refine(isTimeZone, 'must be a time zone, such as Europe/Berlin')
    .meta({ description: 'whose clocks', examples: ['Europe/Berlin'] }),
};

const drillSchema = z.strictObject({ ...dailyKeys, locations: chosenLocations });

/** All daily drills. */
export const drillsSchema = z.array(drillSchema);

export type DrillPlan = Readonly<z.output<typeof drillSchema>>;

/** The moments of something daily: one on each day, also when the clocks change. */
export class DailySchedule {
  readonly #zone: TimeZone;
  readonly #minutes: number;

  constructor({ at, timeZone }: Pick<DrillPlan, 'at' | 'timeZone'>) {
    const [, hours, minutes] = TIME_OF_DAY.exec(at) ?? [];
    this.#zone = new TimeZone(timeZone);
    this.#minutes = Number(hours) * 60 + Number(minutes);
  }

  /** The latest moment up to a time, in milliseconds since 1970. */
  lastDueMs(nowMs: number): number {
    const today = this.#zone.timeOfDay(nowMs, this.#minutes * MINUTE_MS);
    if (today <= nowMs) return today;
    return this.#zone.timeOfDay(this.#zone.startOf('day', nowMs) - 1, this.#minutes * MINUTE_MS);
  }
}

function isTimeZone(name: string): boolean {
  try {
    return new TimeZone(name) !== undefined;
  } catch {
    return false;
  }
}

function modulo(value: number, divisor: number): number {
  return ((value % divisor) + divisor) % divisor;
}
