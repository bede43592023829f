import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type CursorScope, PageCursors } from '../../../src/http/page-cursor.js';

const cursors = new PageCursors(Buffer.from('key'));
const scope: CursorScope = {
  locationId: 'l',
  deviceId: undefined,
  kinds: ['fall'],
  beforeMs: undefined,
  afterMs: undefined,
  order: 'desc',
};
const number = fc.maxSafeInteger();
const cursor = fc.record({
  timeMs: number,
  sequence: fc.maxSafeNat(),
  upToSequence: fc.maxSafeNat(),
});

it('decodes to what was encoded', () => {
  fc.assert(
    fc.property(cursor, (sent) => {
      expect(cursors.decode(cursors.encode(sent, scope), scope)).toEqual(sent);
    }),
  );
});

it('is rejected with a changed character', () => {
  fc.assert(
    fc.property(cursor, fc.nat(), fc.base64String(), (sent, at, other) => {
      const text = cursors.encode(sent, scope);
      const index = at % text.length;
      const changed = text.slice(0, index) + (other[0] ?? '') + text.slice(index + 1);
      fc.pre(changed !== text);
      expect(() => cursors.decode(changed, scope)).toThrow('invalid-cursor');
    }),
  );
});

it('is rejected with another key', () => {
  const sent = { timeMs: 1, sequence: 2, upToSequence: 3 };
  const text = new PageCursors(Buffer.from('another key')).encode(sent, scope);
  expect(() => cursors.decode(text, scope)).toThrow('invalid-cursor');
});

it('distinguishes location from device, and one time bound from the other', () => {
  const sent = { timeMs: 1, sequence: 2, upToSequence: 3 };
  const text = cursors.encode(sent, { ...scope, beforeMs: 5 });
  expect(() => cursors.decode(text, { ...scope, afterMs: 5 })).toThrow('invalid-cursor');
  expect(() => cursors.decode(text, { ...scope, beforeMs: 5, deviceId: 'l' })).toThrow(
    'invalid-cursor',
  );
});
