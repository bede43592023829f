/** Times as RFC 3339 writes them. */

/** A time before this comes from a clock that was not set: a box without a battery starts in 1970. */
export const PLAUSIBLE_FROM_MS = Date.UTC(2020, 0, 1);

/** RFC 3339, 5.6: a date-time with seconds and an offset; `T` and `Z` in either case. */
const RFC3339 =
  /^(\d{4})-(\d{2})-(\d{2})[Tt]([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(?:\.(\d+))?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** An instant, as precise as it was written. */
export interface Instant {
  /** Milliseconds since 1970, finer fractions cut off. */
  readonly timeMs: number;
  /**
   * The decimal digits of the second's fraction beyond the milliseconds, trailing zeros cut off: the
   * same for every notation of the instant, empty when there are none.
   */
  readonly finerDigits: string;
}

/**
 * Parses an RFC 3339 date-time.
 *
 * Undefined when the text is not a date-time, also for a day that its month does not have.
 */
export function parseInstant(text: string): Instant | undefined {
  const match = RFC3339.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction = '', offset = 'Z'] = match;
  const midnight = new Date(0);
  const midnightMs = midnight.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (midnight.getUTCDate() !== Number(day) || midnight.getUTCMonth() !== Number(month) - 1) {
    return undefined;
  }
  const seconds = (Number(hour) * 60 + Number(minute)) * 60 + Number(second);
  const milliseconds = Number(fraction.slice(0, 3).padEnd(3, '0'));
  return {
    timeMs: midnightMs + seconds * 1000 + milliseconds - offsetMs(offset),
    finerDigits: withoutTrailingZeros(fraction.slice(3)),
  };
}

/** How to round a fraction finer than a millisecond. */
export type Rounding = 'down' | 'up';

/**
 * Parses an RFC 3339 date-time to milliseconds since 1970.
 *
 * Cuts off finer fractions, or with `up` makes them a whole millisecond. Undefined when the text is
 * not a date-time.
 */
export function parseRfc3339(text: string, rounding: Rounding = 'down'): number | undefined {
  const instant = parseInstant(text);
  if (instant === undefined) return undefined;
  const { timeMs, finerDigits } = instant;
  return rounding === 'up' && finerDigits !== '' ? timeMs + 1 : timeMs;
}

/** A regular expression would take quadratic time for zeros that do not trail. */
function withoutTrailingZeros(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits[end - 1] === '0') end--;
  return digits.slice(0, end);
}

function offsetMs(offset: string): number {
  if (offset === 'Z' || offset === 'z') return 0;
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(4, 6));
  return (offset.startsWith('-') ? -minutes : minutes) * 60_000;
}

/** 000 to 999. */
const THREE_DIGITS = Array.from({ length: 1000 }, (_, number) => String(number).padStart(3, '0'));
/** Digits of the milliseconds with their `Z`. */
const MILLISECONDS_END = '000Z'.length;

/** The last formatted second: most times fall into the same one. */
let lastSecond = { number: Number.NaN, text: '' };

/**
 * ISO 8601 in UTC with fractional seconds.
 *
 * Every alarm has three of them, and `toISOString` takes several times as long.
 */
export function formatTime(timeMs: number): string {
  const number = Math.floor(timeMs / 1000);
  if (number !== lastSecond.number) {
    lastSecond = {
      number,
      text: new Date(number * 1000).toISOString().slice(0, -MILLISECONDS_END),
    };
  }
  return `${lastSecond.text}${THREE_DIGITS[Math.trunc(timeMs - number * 1000)]}Z`;
}
