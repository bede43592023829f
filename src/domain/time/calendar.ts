/** Hours and days of a time zone, across changes of its clocks. */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export const CALENDAR_UNITS = ['hour', 'day'] as const;
export type CalendarUnit = (typeof CALENDAR_UNITS)[number];

/** The clocks of a time zone of IANA's database. */
export class TimeZone {
  readonly #format: Intl.DateTimeFormat;

  /** @throws RangeError when there is no such time zone */
  constructor(name: string) {
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      calendar: 'iso8601',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
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

  #offsetMs(timeMs: number): number {
    return this.#localMs(timeMs) - timeMs;
  }

  /** The local time of the zone, counted as if it were UTC. */
  #localMs(timeMs: number): number {
    const shown: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {};
    for (const { type, value } of this.#format.formatToParts(timeMs)) shown[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = shown;
    return Date.UTC(year, month - 1, day, hour, minute, second) + modulo(timeMs, 1000);
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

function modulo(value: number, divisor: number): number {
  return ((value % divisor) + divisor) % divisor;
}
