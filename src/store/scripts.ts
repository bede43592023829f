import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import type { Destination } from '../delivery/log/batch.js';

/** A Lua script of ./lua. Each begins with its contract: `Reads only.` if it writes nothing. */
export class Script<Reply> {
  readonly text: string;
  readonly isReading: boolean;
  /** Whether its reply holds bytes that are not text. */
  readonly hasBytes: boolean;
  readonly #reply: z.ZodType<Reply>;

  constructor(name: string, reply: z.ZodType<Reply>, { hasBytes = false } = {}) {
    const lua = withShared(textOf(name));
    this.isReading = lua.startsWith('-- Reads only.');
    // A third of the text is comments.
    this.text = lua.replace(/^ *--.*$/gm, '');
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

/**
 * Packs a batch into one argument of a script, in MessagePack.
 *
 * One long argument costs Redis and its client far less than hundreds of short ones. `cmsgpack` in Redis
 * 6.2 and 7 does not know `bin`, so bytes are sent as `str`, which is the same to Lua. No packer in the npm
 * registry can do that.
 */

const ARRAY_32 = 0xdd;
const STRING_32 = 0xdb;
const FLOAT_64 = 0xcb;
const HEADER_BYTES = 5;
const NUMBER_BYTES = 9;
/** UTF-8 takes up to three bytes per UTF-16 unit. */
const MAX_BYTES_OF_UNIT = 3;
const MAX_ASCII = 0x7f;
const SHORT_TEXT = 64;

export type Packable = string | number | Buffer;

/** The rows as an array of arrays. */
export function packRows(rows: readonly (readonly Packable[])[]): Buffer {
  let maxBytes = HEADER_BYTES;
  for (const row of rows) {
    maxBytes += HEADER_BYTES;
    for (const value of row) maxBytes += maxPackedBytes(value);
  }
  const packed = Buffer.allocUnsafe(maxBytes);
  let at = writeHeader(packed, 0, ARRAY_32, rows.length);
  for (const row of rows) {
    at = writeHeader(packed, at, ARRAY_32, row.length);
    for (const value of row) at = writeValue(packed, at, value);
  }
  return packed.subarray(0, at);
}

function maxPackedBytes(value: Packable): number {
  if (typeof value === 'number') return NUMBER_BYTES;
  return HEADER_BYTES + value.length * (typeof value === 'string' ? MAX_BYTES_OF_UNIT : 1);
}

function writeValue(packed: Buffer, at: number, value: Packable): number {
  if (typeof value === 'number') {
    packed[at] = FLOAT_64;
    return packed.writeDoubleBE(value, at + 1);
  }
  const start = at + HEADER_BYTES;
  const length =
    typeof value === 'string' ? writeText(packed, start, value) : value.copy(packed, start);
  writeHeader(packed, at, STRING_32, length);
  return start + length;
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

/** The destinations of a batch, and the sets of them that its items need. */
export interface PackedDestinations {
  readonly names: readonly string[];
  /** The names, as scripts take them. */
  readonly packedNames: Buffer;
  /** The sets, each as numbers of names from 1. */
  readonly packedSets: Buffer;
  /** The set of each item, from 1. */
  readonly setOfItems: readonly number[];
}

/** Numbers the destinations of a batch: most items have the same ones. */
export function packDestinations(ofItems: readonly (readonly Destination[])[]): PackedDestinations {
  const numbers = new Map<Destination, number>();
  const setNumbers = new Map<readonly Destination[], number>();
  const sets: (readonly number[])[] = [];
  const setOfItems = ofItems.map((destinations) => {
    const known = setNumbers.get(destinations);
    if (known !== undefined) return known;
    sets.push(
      destinations.map((destination) => {
        const number = numbers.get(destination) ?? numbers.size + 1;
        numbers.set(destination, number);
        return number;
      }),
    );
    setNumbers.set(destinations, sets.length);
    return sets.length;
  });
  const names = Array.from(numbers.keys(), ({ key }) => key);
  const packedNames = packRows(names.map((name) => [name]));
  return { names, packedNames, packedSets: packRows(sets), setOfItems };
}
