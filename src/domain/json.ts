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
