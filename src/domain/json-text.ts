import { isUtf8 } from 'node:buffer';

/**
 * JSON as text. What a device or a customer sent is spliced into messages exactly as it was written,
 * so that integers beyond 2^53, `1.10`, the order of keys and a key such as `__proto__` survive
 * (CONTRACT 2, custom data). `JSON.parse` decides what is valid; the scanner below relies on that.
 */

/** The bytes as text, or undefined when they are not well-formed UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  if (!isUtf8(bytes)) return undefined;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}

/** Whether the text is one JSON value and nothing else. */
export function isJson(text: string): boolean {
  return parseJson(text) !== undefined;
}

/** The value of a JSON text; undefined, which no JSON text means, when the text is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The members of a JSON object, key to the text of its value, in their order. A key that stands
 * there twice keeps its first place and its last value, as `JSON.parse` has it.
 *
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
    const key = String(JSON.parse(text.slice(at, keyEnd)));
    const valueStart = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const valueEnd = endOfValue(text, valueStart);
    members.set(key, text.slice(valueStart, valueEnd));
    at = skipSpace(text, valueEnd);
    if (text[at] === ',') at = skipSpace(text, at + 1);
  }
  return members;
}

/** The inverse of `objectMembers`: an object's text from its keys and the texts of its values. */
export function composeObject(members: ReadonlyMap<string, string>): string {
  const parts = Array.from(members, ([key, value]) => `${JSON.stringify(key)}:${value}`);
  return `{${parts.join(',')}}`;
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

function skipSpace(text: string, from: number): number {
  let at = from;
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at++;
  return at;
}

function stringEnd(text: string, from: number): number {
  let at = from + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
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
  const rest = /[\s,}\]]/g;
  rest.lastIndex = from;
  return rest.exec(text)?.index ?? text.length;
}
