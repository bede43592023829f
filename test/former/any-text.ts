import fc from 'fast-check';

/**
 * Any code point that UTF-8 can encode.
 *
 * Generates the same texts as fast-check's `binary`, which first fills a table of all code points and
 * takes a second of processor time for it.
 */
const anyCodePoint = fc
  .oneof(fc.nat(0xd7ff), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((one) => String.fromCodePoint(one));

/** Any text that UTF-8 can carry. */
export function anyText(constraints: fc.StringConstraints = {}): fc.Arbitrary<string> {
  return fc.string({ ...constraints, unit: anyCodePoint });
}
