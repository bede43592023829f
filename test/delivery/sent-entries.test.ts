import { expect, it } from 'vitest';
import { freshCursor } from '../../src/delivery/cursors/cursor-state.js';
import { SentEntries } from '../../src/delivery/cursors/sent-entries.js';
import type { LogEntry } from '../../src/delivery/log/log-entry.js';
import { numbered } from './running-delivery.js';

function entry(sequence: number, bytes = 0): LogEntry {
  return { ...numbered(sequence, 'a', 0, bytes), log: 'alarms', sequence };
}

/** The entries of these sequences, sent before their turn. */
function ahead(...sequences: readonly number[]): SentEntries {
  const sent = new SentEntries(freshCursor(0));
  for (const sequence of sequences) sent.sendAhead(entry(sequence));
  return sent;
}

it('keeps entries done with before their turn through a save, whatever the gaps', () => {
  const done = [1_000, 1_007, 1_008, 5_000];
  const sent = ahead(...done, 6_000);
  for (const sequence of done) expect(sent.complete(sequence)).toBe(true);
  expect(sent.complete(7_000)).toBe(false);
  const state = JSON.parse(JSON.stringify(sent.stateAt(0, 0, false)));
  const restored = new SentEntries({ ...freshCursor(0), ...state });
  const known = [999, 1_000, 1_001, 1_007, 1_008, 1_009, 5_000, 6_000].filter(
    (sequence) => !restored.isOpen(sequence),
  );
  expect(known).toEqual(done);
  expect(restored.aheadCount).toBe(0);
});

it('keeps entries in flight when the cursor passes them, and forgets those done with', () => {
  const sent = ahead(5, 6);
  sent.complete(6);
  expect([4, 5, 6].map((sequence) => sent.pass(entry(sequence)))).toEqual([true, false, false]);
  expect([sent.isOpen(5), sent.isOpen(6)]).toEqual([false, true]);
  expect([sent.inTurnCount, sent.aheadCount, sent.oldest]).toEqual([1, 0, 5]);
  expect(sent.stateAt(4, 4, false)).not.toHaveProperty('ahead');
});

it('passes all entries before the target of a jump, in the order of the log', () => {
  const sent = ahead(9, 5, 7, 6);
  sent.complete(6);
  expect(sent.aheadAfter(5)).toBe(3);
  sent.passAllUpTo(7);
  expect([sent.inTurnCount, sent.oldest]).toEqual([2, 5]);
  sent.complete(5);
  expect(sent.oldest).toBe(7);
  expect([sent.isOpen(6), sent.isOpen(9), sent.aheadCount]).toEqual([true, false, 1]);
  expect(sent.amount).toEqual({ count: 2, bytes: 2 * entry(7).payload.length });
});

it('forgets entries after the end when the log is cut', () => {
  const sent = ahead(5, 6, 7, 8);
  sent.complete(5);
  sent.complete(8);
  expect(sent.cutAt(6)).toBe(1);
  expect([5, 6, 7, 8].map((sequence) => sent.isOpen(sequence))).toEqual([false, false, true, true]);
});
