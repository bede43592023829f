/** Notation of the interface: JSON texts, times (RFC 3339), identifiers (UUID). */

import { isUtf8 } from 'node:buffer';
import { hash, randomUUID } from 'node:crypto';

/**
 * JSON as text.
 *
 * Values from a device or a customer are spliced into messages exactly as they were written, so
 * that integers beyond 2^53, `1.10`, the order of keys and a key such as `__proto__` survive
 * (docs/reference/contract.md, 2, custom data). `JSON.parse` decides what is valid; `objectMembers` relies on that.
 */

/** The bytes as text, or undefined when they are not well-formed UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  if (!isUtf8(bytes)) return undefined;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}

const BYTE_ORDER_MARK = '\ufeff';

/** The text of a client's payload, without a byte order mark, and without the NUL that ends a string in C. */
export function payloadText(payload: Uint8Array): string | undefined {
  let end = payload.length;
  while (payload[end - 1] === 0) end--;
  const text = decodeUtf8(payload.subarray(0, end));
  return text?.startsWith(BYTE_ORDER_MARK) ? text.slice(BYTE_ORDER_MARK.length) : text;
}

/** Whether the text is one JSON value and nothing else. */
export function isJson(text: string): boolean {
  return parseJson(text) !== undefined;
}

/** The value of a JSON text; undefined, which no JSON text means, when the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Quotes, escapes and punctuation of a JSON text. */
const TOKENS = /\\.|["{}[\],:]/g;

/**
 * Splits a JSON object into its keys and the texts of their values, in order.
 *
 * A key that occurs twice keeps its first place and its last value, as in `JSON.parse`.
 * @param text one valid JSON value (see `isJson`)
 * @returns undefined when the value is not an object
 */
export function objectMembers(text: string): Map<string, string> | undefined {
  if (!/^\s*\{/.test(text)) return undefined;
  const members = new Map<string, string>();
  let [depth, valueStart] = [0, 0];
  let stringStart: number | undefined;
  let key: string | undefined;
  for (const { 0: token, index } of text.matchAll(TOKENS)) {
    if (stringStart !== undefined) {
      if (token !== '"') continue;
      if (depth === 1) key ??= String(JSON.parse(text.slice(stringStart, index + 1)));
      stringStart = undefined;
    } else if (token === '"') stringStart = index;
    else if (token === '{' || token === '[') depth++;
    else if (depth === 1 && token === ':') valueStart = index + 1;
    else if (depth === 1 && key !== undefined) {
      members.set(key, text.slice(valueStart, index).trim());
      key = undefined;
    }
    if (stringStart === undefined && (token === '}' || token === ']')) depth--;
  }
  return members;
}

/** The inverse of `objectMembers`: an object's text from its keys and the texts of its values. */
export function composeObject(members: Iterable<readonly [string, string]>): string {
  let parts = '';
  for (const [key, value] of members) {
    parts += `${parts === '' ? '' : ','}${JSON.stringify(key)}:${value}`;
  }
  return `{${parts}}`;
}

/**
 * RFC 7396 (JSON merge patch) on texts: values that the patch does not touch keep their spelling.
 *
 * @param target the value to change, undefined where there is none
 * @param patch the patch, one valid JSON value
 */
export function mergePatch(target: string | undefined, patch: string): string {
  const changes = objectMembers(patch);
  if (changes === undefined) return patch;
  const members = (target === undefined ? undefined : objectMembers(target)) ?? new Map();
  for (const [key, value] of changes) {
    if (value === 'null') members.delete(key);
    else members.set(key, mergePatch(members.get(key), value));
  }
  return composeObject(members);
}

/** Whether a value is an object with members, not a list. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An own member of the object, never an inherited one. */
export function own(value: object, key: string): unknown {
  return Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
}

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

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether the text is a UUID in its usual notation, of any version. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** A fresh random UUID. */
export function newId(): string {
  return randomUUID();
}

/**
 * The version 5 UUID (RFC 9562, 5.5) of a name within a namespace.
 *
 * Equal namespaces and names always give the same identifier.
 * @param namespace a UUID
 */
export function derivedId(namespace: string, name: string): string {
  const digest = sha1(Buffer.concat([uuidBytes(namespace), Buffer.from(name)]));
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x50, 6);
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8);
  return uuidText(digest);
}

/** The SHA-1 digest; as text first, which takes Node half as long as making a buffer. */
export function sha1(bytes: Buffer): Buffer {
  return Buffer.from(hash('sha1', bytes, 'binary'), 'binary');
}

/** The 16 bytes of a UUID. */
export function uuidBytes(uuid: string): Buffer {
  return Buffer.from(uuid.replaceAll('-', ''), 'hex');
}

/** The UUID, in its usual notation, of the first 16 bytes. */
export function uuidText(bytes: Buffer): string {
  const hex = bytes.toString('hex', 0, 16);
  const [first, second, third] = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16)];
  return `${first}-${second}-${third}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
