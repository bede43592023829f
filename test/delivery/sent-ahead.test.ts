import { expect, it } from 'vitest';
import { SentAhead } from '../../src/delivery/sent-ahead.js';

it('keeps entries done with through a save, whatever the gaps', () => {
  const ahead = new SentAhead(undefined);
  for (const sequence of [1_000, 1_007, 1_008, 5_000]) {
    ahead.sent(sequence, 10);
    ahead.complete(sequence);
  }
  ahead.sent(6_000, 10);
  expect(ahead.complete(7_000)).toBe(false);
  const restored = new SentAhead(JSON.parse(JSON.stringify(ahead.state)));
  const known = [999, 1_000, 1_001, 1_007, 1_008, 1_009, 5_000, 6_000].filter((sequence) =>
    restored.has(sequence),
  );
  expect(known).toEqual([1_000, 1_007, 1_008, 5_000]);
  expect(restored.inFlightCount).toBe(0);
});

it('returns entries in flight when the cursor passes them, and forgets those done with', () => {
  const ahead = new SentAhead(undefined);
  ahead.sent(5, 50);
  ahead.sent(6, 60);
  ahead.complete(6);
  expect([ahead.pass(4), ahead.pass(5), ahead.pass(6)]).toEqual([undefined, 50, 'done']);
  expect([ahead.has(5), ahead.has(6), ahead.inFlightCount]).toEqual([false, false, 0]);
  expect(ahead.state).toBeUndefined();
});

it('passes all entries before the target of a jump, in the order of the log', () => {
  const ahead = new SentAhead(undefined);
  for (const sequence of [9, 5, 7, 6]) ahead.sent(sequence, sequence);
  ahead.complete(6);
  expect(ahead.countAfter(5)).toBe(3);
  expect(ahead.passAllUpTo(7)).toEqual([
    [5, 5],
    [7, 7],
  ]);
  expect([ahead.has(6), ahead.has(9), ahead.inFlightBytes]).toEqual([false, true, 9]);
});

it('forgets entries after the end when the log is cut', () => {
  const ahead = new SentAhead(undefined);
  for (const sequence of [5, 6, 7, 8]) ahead.sent(sequence, 1);
  ahead.complete(5);
  ahead.complete(8);
  expect(ahead.cutAt(6)).toBe(1);
  expect([5, 6, 7, 8].map((sequence) => ahead.has(sequence))).toEqual([true, true, false, false]);
});
