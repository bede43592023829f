/**
 * JSON as text.
 *
 * Values from a device or a customer are spliced into messages exactly as they were written, so
 * that integers beyond 2^53, `1.10`, the order of keys and a key such as `__proto__` survive
 * (contract 2, custom data). `JSON.parse` decides what is valid; `objectMembers` relies on that.
 */

import { isUtf8 } from 'node:buffer';

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

/**
 * Splits a JSON object into its keys and the texts of their values, in order.
 *
 * A key that occurs twice keeps its first place and its last value, as in `JSON.parse`.
 * @param text one valid JSON value (see `isJson`)
 * @returns undefined when the value is not an object
 */
export function objectMembers(text: string): Map<string, string> | undefined {
  let at = skipSpace(text, 0);
  if (text[at] !== '{') return undefined;
  const members = new Map<string, string>();
  at = skipSpace(text, at + 1);
  while (text[at] !== '}') {
    const keyEnd = stringEnd(text, at);
    const key = stringValue(text.slice(at, keyEnd));
    const valueStart = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const valueEnd = endOfValue(text, valueStart);
    members.set(key, text.slice(valueStart, valueEnd));
    at = skipSpace(text, valueEnd);
    if (text[at] === ',') at = skipSpace(text, at + 1);
  }
  return members;
}

/** The value of a JSON string; most need no parser. */
function stringValue(text: string): string {
  return text.includes('\\') ? String(JSON.parse(text)) : text.slice(1, -1);
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

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;

/** The text is valid JSON, so any invisible character is one of its four kinds of white space. */
function skipSpace(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) <= SPACE) at++;
  return at;
}

function stringEnd(text: string, from: number): number {
  let at = from + 1;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    at += code === BACKSLASH ? 2 : 1;
  }
}

function endOfValue(text: string, from: number): number {
  if (text[from] === '"') return stringEnd(text, from);
  if (text[from] !== '{' && text[from] !== '[') return endOfLiteral(text, from);
  let depth = 0;
  let at = from;
  do {
    const character = text[at];
    if (character === '"') {
      at = stringEnd(text, at);
      continue;
    }
    if (character === '{' || character === '[') depth++;
    if (character === '}' || character === ']') depth--;
    at++;
  } while (depth > 0);
  return at;
}

function endOfLiteral(text: string, from: number): number {
  let at = from;
  while (at < text.length && !ENDS_OF_LITERALS.has(text.charCodeAt(at))) at++;
  return at;
}

const ENDS_OF_LITERALS: ReadonlySet<number> = new Set(
  Array.from(' \n\r\t,}]', (character) => character.charCodeAt(0)),
);

/** Whether a value is an object with members, not a list. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An own member of the object, never an inherited one. */
export function own(value: object, key: string): unknown {
  return Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
}
