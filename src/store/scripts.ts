/**
 * Lua scripts of ./lua, and how they are called: one key, the site's prefix, which names every other key inside the
 * script, and one map of arguments in MessagePack.
 *
 * One long argument costs Redis and its client far less than hundreds of short ones. The prefix itself never exists as a
 * key. While a slot of a cluster moves, Redis starts no script with a declared key that it does not have, and so none
 * that would find some of its keys here and others gone.
 */
import { readFileSync } from 'node:fs';
import type { z } from 'zod';

/** The beginning of every script. */
const PROLOGUE = `local function key(name) return KEYS[1] .. name end
local arg = cmsgpack.unpack(ARGV[1])
`;

/** The code with which a script refuses to write when another gateway has the lease. */
const FENCED = 'FENCED';

/** The check at the start of every script that writes under a lease, whose token is its last argument. */
export const FENCE = `if redis.call('HGET', KEYS[1] .. 'lease', 'token') ~= ARGV[2] then
return redis.error_reply('${FENCED} another gateway holds the lease') end
`;

/** Whether a write failed because another gateway has the lease. */
export function isFenced(error: unknown): boolean {
  return [error, error instanceof Error && error.cause].some(
    (one) => one instanceof Error && one.message.startsWith(FENCED),
  );
}

/** A Lua script of ./lua. Each begins with its contract: `Reads only.` if it writes nothing. */
export class Script<Reply> {
  readonly name: string;
  readonly text: string;
  readonly isReading: boolean;
  /** Whether its reply holds bytes that are not text. */
  readonly hasBytes: boolean;
  readonly #reply: z.ZodType<Reply>;

  constructor(name: string, reply: z.ZodType<Reply>, { hasBytes = false } = {}) {
    const lua = withShared(textOf(name));
    this.name = name;
    this.isReading = lua.startsWith('-- Reads only.');
    // A third of the text is comments.
    this.text = PROLOGUE + lua.replace(/^ *--.*$/gm, '');
    this.hasBytes = hasBytes;
    this.#reply = reply;
  }

  /** @throws ZodError for a reply of another shape */
  parse(reply: unknown): Reply {
    return this.#reply.parse(reply);
  }
}

const SHARED = /^--- include ([a-z-]+)$/gm;

function textOf(name: string): string {
  return readFileSync(new URL(`./lua/${name}.lua`, import.meta.url), 'utf8');
}

/** Replaces the `include` lines of a script with the shared functions they name. */
function withShared(lua: string): string {
  return lua.replace(SHARED, (_line, name) => textOf(`shared/${name}`));
}

export type Packable =
  | string
  | number
  | boolean
  | Buffer
  | readonly Packable[]
  | { readonly [name: string]: Packable | undefined };

const ARRAY_32 = 0xdd;
const MAP_32 = 0xdf;
const STRING_32 = 0xdb;
const FLOAT_64 = 0xcb;
const [FALSE, TRUE] = [0xc2, 0xc3];
const HEADER_BYTES = 5;
const NUMBER_BYTES = 9;
/** UTF-8 takes up to three bytes per UTF-16 unit. */
const MAX_BYTES_OF_UNIT = 3;
const MAX_ASCII = 0x7f;
const SHORT_TEXT = 64;

/**
 * Packs a value in MessagePack; members that are undefined are left out.
 *
 * `cmsgpack` in Redis 6.2 and 7 does not know `bin`, so bytes are sent as `str`, which is the same to Lua.
 */
export function pack(value: Packable): Buffer {
  const packed = Buffer.allocUnsafe(maxPackedBytes(value));
  return packed.subarray(0, write(packed, 0, value));
}

function maxPackedBytes(value: Packable): number {
  if (typeof value === 'string') return HEADER_BYTES + value.length * MAX_BYTES_OF_UNIT;
  if (typeof value === 'number') return NUMBER_BYTES;
  if (typeof value === 'boolean') return 1;
  if (value instanceof Buffer) return HEADER_BYTES + value.length;
  let bytes = HEADER_BYTES;
  if (isArray(value)) {
    for (const one of value) bytes += maxPackedBytes(one);
    return bytes;
  }
  for (const [name, member] of Object.entries(value)) {
    if (member !== undefined) bytes += maxPackedBytes(name) + maxPackedBytes(member);
  }
  return bytes;
}

function write(packed: Buffer, at: number, value: Packable): number {
  if (typeof value === 'string') {
    const length = writeText(packed, at + HEADER_BYTES, value);
    return writeHeader(packed, at, STRING_32, length) + length;
  }
  if (typeof value === 'number') {
    packed[at] = FLOAT_64;
    return packed.writeDoubleBE(value, at + 1);
  }
  if (typeof value === 'boolean') {
    packed[at] = value ? TRUE : FALSE;
    return at + 1;
  }
  if (value instanceof Buffer) {
    value.copy(packed, at + HEADER_BYTES);
    return writeHeader(packed, at, STRING_32, value.length) + value.length;
  }
  if (isArray(value)) {
    let end = writeHeader(packed, at, ARRAY_32, value.length);
    for (const one of value) end = write(packed, end, one);
    return end;
  }
  const members = Object.entries(value);
  let end = at + HEADER_BYTES;
  let count = 0;
  for (const [name, member] of members) {
    if (member === undefined) continue;
    count++;
    end = write(packed, write(packed, end, name), member);
  }
  writeHeader(packed, at, MAP_32, count);
  return end;
}

function isArray(value: Packable): value is readonly Packable[] {
  return Array.isArray(value);
}

/** Writes UTF-8. Most values are short ASCII, which this loop writes faster than a call into Node. */
function writeText(packed: Buffer, start: number, text: string): number {
  if (text.length > SHORT_TEXT) return packed.write(text, start);
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code > MAX_ASCII) return packed.write(text, start);
    packed[start + at] = code;
  }
  return text.length;
}

function writeHeader(packed: Buffer, at: number, type: number, length: number): number {
  packed[at] = type;
  packed[at + 1] = length >>> 24;
  packed[at + 2] = length >>> 16;
  packed[at + 3] = length >>> 8;
  packed[at + 4] = length;
  return at + HEADER_BYTES;
}
