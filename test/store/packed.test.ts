import fc from 'fast-check';
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { type Packable, packRows } from '../../src/store/scripts.js';
import { anyText } from '../former/any-text.js';
import { useRedis } from '../former/servers/shared-redis.js';

const place = useRedis();

/** Unpacks as the scripts do: each value with its type, and numbers with all digits. */
const UNPACK = `
  local rows = {}
  for number, row in ipairs(cmsgpack.unpack(ARGV[1])) do
    local values = {}
    for at, value in ipairs(row) do
      values[2 * at - 1] = type(value)
      values[2 * at] = type(value) == 'number' and string.format('%.17g', value) or value
    end
    rows[number] = values
  end
  return rows`;
const bytes = z.instanceof(Buffer);
const replySchema = z.array(z.array(bytes));

/** Types and values, with a character for each byte: Vitest is very slow at comparing buffers. */
async function unpacked(redis: Redis, rows: readonly (readonly Packable[])[]) {
  const reply = replySchema.parse(await redis.callBuffer('EVAL', UNPACK, 0, packRows(rows)));
  return reply.map((row) => row.map((value) => value.toString('latin1')));
}

/** The values that Lua must find. */
function found(value: Packable): string[] {
  return typeof value === 'number'
    ? ['number', value.toString()]
    : ['string', Buffer.from(value).toString('latin1')];
}

async function expectUnpacked(redis: Redis, rows: readonly (readonly Packable[])[]) {
  const reply = await unpacked(redis, rows);
  const comparable = reply.map((row) =>
    row.map((value, at) =>
      row[at - 1] === 'number' && at % 2 === 1 ? String(Number(value)) : value,
    ),
  );
  expect(comparable).toEqual(rows.map((row) => row.flatMap(found)));
}

it('passes text, bytes and numbers to a script unchanged', async () => {
  const redis = new Redis({ path: place.socketPath });
  const value = fc.oneof(
    anyText(),
    fc.string({ unit: 'grapheme' }),
    fc.uint8Array({ maxLength: 300 }).map((one) => Buffer.from(one)),
    fc.maxSafeInteger(),
    fc.double({ noDefaultInfinity: true, noNaN: true }).filter((one) => !Object.is(one, -0)),
  );
  const rows = fc.array(fc.array(value, { maxLength: 30 }), { maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(rows, (some) => expectUnpacked(redis, some)),
    { numRuns: 40 },
  );
  redis.disconnect();
});

it.each([
  ['no row', []],
  ['an empty row', [[]]],
  ['empty values', [['', Buffer.alloc(0), 0]]],
  ['more rows than 16 bits can count', Array.from({ length: 70_000 }, (_, at) => [at])],
  ['a row longer than 16 bits can count', [Array.from({ length: 70_000 }, () => 'x')]],
  ['text longer than 16 bits can count', [['ü'.repeat(70_000), Buffer.alloc(70_000, 0xff)]]],
  ['a time and the largest safe integer', [[1_795_315_775_462, Number.MAX_SAFE_INTEGER]]],
])('passes %s to a script', async (_, rows) => {
  const redis = new Redis({ path: place.socketPath });
  await expectUnpacked(redis, rows);
  redis.disconnect();
});
