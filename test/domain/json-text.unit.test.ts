import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  composeObject,
  decodeUtf8,
  isJson,
  mergePatch,
  objectMembers,
} from '../../src/domain/notation.js';

/** Applies RFC 7396, section 2, to values, as written in the RFC. */
function referenceMerge(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = referenceMerge(result[key], value);
  }
  return result;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const keys = fc.constantFrom('a', 'b', '1', '0', '', 'ä"\\', 'constructor');
const { json } = fc.letrec((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, 0, -1.5, 'x', '"}', '\\', '😀'),
    fc.array(tie('json'), { maxLength: 3 }),
    fc.dictionary(keys, tie('json'), { maxKeys: 4, noNullPrototype: true }),
  ),
}));
const spelled = fc
  .tuple(json, fc.constantFrom(undefined, 1, '\t'))
  .map(([value, indent]) => JSON.stringify(value, null, indent));

describe('objectMembers', () => {
  it('splits every object into its keys and the texts of its values', () => {
    fc.assert(
      fc.property(spelled, (text) => {
        const value: unknown = JSON.parse(text);
        const members = objectMembers(text);
        if (!isObject(value)) return members === undefined;
        const read = [...(members ?? [])].map(([key, part]) => [key, JSON.parse(part)]);
        expect(Object.fromEntries(read)).toEqual(value);
        return true;
      }),
    );
  });

  it('keeps the spelling of values and the order of keys', () => {
    const members = objectMembers('{"b":1.10,"1": 12345678901234567890 ,"__proto__":{"x":[ 1 ]}}');
    expect([...(members ?? [])]).toEqual([
      ['b', '1.10'],
      ['1', '12345678901234567890'],
      ['__proto__', '{"x":[ 1 ]}'],
    ]);
  });

  it('keeps the last of two equal keys, in the place of the first', () => {
    expect(composeObject(objectMembers('{"a":1,"b":2,"a":3}') ?? new Map())).toBe('{"a":3,"b":2}');
  });
});

describe('mergePatch', () => {
  it('follows RFC 7396', () => {
    fc.assert(
      fc.property(spelled, spelled, (target, patch) => {
        const merged: unknown = JSON.parse(mergePatch(target, patch));
        expect(merged).toEqual(referenceMerge(JSON.parse(target), JSON.parse(patch)));
      }),
    );
  });

  it.each([
    ['{"a":1.10,"b":2}', '{"b":12345678901234567890}', '{"a":1.10,"b":12345678901234567890}'],
    ['{"a":{"x":1,"y":2}}', '{"a":{"x":null}}', '{"a":{"y":2}}'],
    ['{"a":1}', '{"__proto__":{"p":1}}', '{"a":1,"__proto__":{"p":1}}'],
    ['{}', '{"a":{"b":null}}', '{"a":{}}'],
  ])('of %s with %s is %s', (target, patch, merged) => {
    expect(mergePatch(target, patch)).toBe(merged);
  });
});

describe('text and JSON', () => {
  it('does not accept malformed UTF-8', () => {
    expect(decodeUtf8(Buffer.from([0x22, 0xff, 0x22]))).toBeUndefined();
    expect(decodeUtf8(Buffer.from('"ü"'))).toBe('"ü"');
  });

  it('does not accept a byte order mark, a trailing comma or a second value', () => {
    for (const text of ['\ufeff{}', '{"a":1,}', '1 2', '', "{'a':1}", 'NaN']) {
      expect(isJson(text), text).toBe(false);
    }
  });

  it('accepts any depth', () => {
    expect(isJson('['.repeat(50_000) + ']'.repeat(50_000))).toBe(true);
  });
});
