/** Times as RFC 3339 writes them. */

/** A time before this comes from a clock that was not set: a box without a battery starts in 1970. */
export const PLAUSIBLE_FROM_MS = Date.UTC(2020, 0, 1);

/** RFC 3339, 5.6: a date-time with seconds and an offset; `T` and `Z` in either case. */
const RFC3339 =
  /^(\d{4}-\d\d-\d\d)[Tt]((?:[01]\d|2[0-3]):[0-5]\d):([0-5]\d|60)(?:\.(\d+))?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

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
  const [, day = '', minute = '', second = '', fraction = '', offset = ''] = match;
  const minuteMs = Date.parse(`${day}T${minute}${offset.toUpperCase()}`);
  // JavaScript takes 31 February for 3 March.
  if (Number.isNaN(minuteMs) || !new Date(day).toISOString().startsWith(day)) return undefined;
  const milliseconds = Number(fraction.slice(0, 3).padEnd(3, '0'));
  return {
    timeMs: minuteMs + Number(second) * 1000 + milliseconds,
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
