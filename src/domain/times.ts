/** A time before this comes from a clock that was not set: a box without a battery starts in 1970. */
export const PLAUSIBLE_FROM_MS = Date.UTC(2020, 0, 1);

/** RFC 3339, 5.6: a date-time with seconds and an offset; `T` and `Z` in either case. */
const RFC3339 =
  /^(\d{4}-\d{2}-\d{2})[Tt]([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(?:\.(\d+))?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** An instant as finely as it was written. */
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
 * The instant of an RFC 3339 date-time; undefined when the text is none, also for a day that its
 * month does not have.
 */
export function parseInstant(text: string): Instant | undefined {
  const match = RFC3339.exec(text);
  if (match === null) return undefined;
  const [, day = '', hour, minute, second, fraction = '', offset = 'Z'] = match;
  const midnightMs = Date.parse(`${day}T00:00:00.000Z`);
  if (Number.isNaN(midnightMs) || formatTime(midnightMs).slice(0, 10) !== day) return undefined;
  const seconds = (Number(hour) * 60 + Number(minute)) * 60 + Number(second);
  const milliseconds = Number(fraction.slice(0, 3).padEnd(3, '0'));
  return {
    timeMs: midnightMs + seconds * 1000 + milliseconds - offsetMs(offset),
    finerDigits: withoutTrailingZeros(fraction.slice(3)),
  };
}

/** How a fraction finer than a millisecond is treated. */
export type Rounding = 'down' | 'up';

/**
 * The instant of an RFC 3339 date-time in milliseconds since 1970, finer fractions cut off, or with
 * `up` taken for a whole one; undefined when the text is none.
 */
export function parseRfc3339(text: string, rounding: Rounding = 'down'): number | undefined {
  const instant = parseInstant(text);
  if (instant === undefined) return undefined;
  const { timeMs, finerDigits } = instant;
  return rounding === 'up' && finerDigits !== '' ? timeMs + 1 : timeMs;
}

/** By hand: the regular expression that does it takes quadratic time for zeros that do not trail. */
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

/** ISO 8601 in UTC with fractional seconds, as the interface specification writes its timestamps. */
export function formatTime(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
