import { describe, expect, it } from 'vitest';
import { Tally } from '../../src/delivery/backlog/tally.js';
import type { LogEntry } from '../../src/delivery/log/log-entry.js';
import { numbered } from './running-delivery.js';

const SPACING = { entries: 10, bytes: 1_000, ms: 100 };
const FAR = Number.POSITIVE_INFINITY;

function entry(sequence: number, receivedAtMs = 0, bytes = 0): LogEntry {
  return { ...numbered(sequence, 'a', receivedAtMs, bytes), log: 'messages', sequence };
}

function tallyOf(count: number, receivedAtMs = (_n: number) => 0): Tally {
  const tally = new Tally(SPACING);
  for (let n = 1; n <= count; n++) tally.add(entry(n, receivedAtMs(n)));
  return tally;
}

describe('a tally', () => {
  it('sets a mark when enough entries, bytes or time have passed', () => {
    const tally = new Tally(SPACING);
    const marked = (one: LogEntry) => tally.add(one);
    expect([marked(entry(1)), marked(entry(2))]).toEqual([true, false]);
    for (let n = 3; n <= 10; n++) expect(marked(entry(n))).toBe(false);
    expect(marked(entry(11))).toBe(true);
    expect(marked(entry(12, 0, 999))).toBe(false);
    expect(marked(entry(13, 0, 20))).toBe(true);
    expect([marked(entry(14, 99)), marked(entry(15, 100))]).toEqual([false, true]);
    const plain = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14, 15];
    const bytes = plain.reduce((sum, n) => sum + entry(n).payload.length, 0);
    expect([tally.count, tally.bytes]).toEqual([15, bytes + 999 + 20]);
  });

  it('finds the first mark from a sequence on with no more than a bound after it', () => {
    const tally = tallyOf(101);
    expect(tally.leaving(50, FAR, 0)).toMatchObject({ sequence: 51, count: 51 });
    expect(tally.leaving(55, FAR, 0)?.sequence).toBe(51);
    expect(tally.leaving(50, FAR, 72)?.sequence).toBe(81);
    expect(tally.leaving(0, FAR, 0)?.sequence).toBe(101);
    const { length } = entry(99).payload;
    expect(tally.leaving(FAR, 10 * length + 2, 0)?.sequence).toBe(91);
    expect(tally.leaving(50, FAR, 102)).toBeUndefined();
  });

  it('finds the last mark before a time, also just before a pause', () => {
    const tally = tallyOf(25, (n) => (n <= 5 ? 0 : 1_000));
    // Five entries, then a pause: only the first entry was due for a mark.
    expect(tally.before(1_000, 0)).toMatchObject({ sequence: 5, count: 5 });
    expect(tally.before(1_000, 6)).toBeUndefined();
    expect(tally.before(0, 0)).toBeUndefined();
  });

  it('finds the newest entry when all are older, so that a quiet log keeps nothing for ever', () => {
    expect(tallyOf(6).before(1, 0)).toMatchObject({ sequence: 6, count: 6 });
  });

  it('goes on from the last of the marks that were prepended', () => {
    const before = new Tally(SPACING);
    for (let sequence = 1; sequence <= 21; sequence++) before.add(entry(sequence));
    const tally = new Tally(SPACING);
    tally.prepend(before);
    expect(tally.add(entry(22))).toBe(false);
    expect(tally.leaving(11, FAR, 0)?.sequence).toBe(11);
    expect(tally.leaving(10, FAR, 0)?.sequence).toBe(21);
  });

  it('thins out its marks beyond a number, except the newest', () => {
    const tally = tallyOf(20_001);
    expect(tally.marksFrom(0).length).toBeLessThanOrEqual(512);
    expect(tally.leaving(0, FAR, 0)?.sequence).toBe(20_001);
    const coarse = tally.leaving(10_000, FAR, 0)?.count ?? 0;
    expect(coarse).toBeGreaterThanOrEqual(10_001);
    expect(coarse).toBeLessThan(10_400);
  });

  it('forgets marks that all consumers have passed, and marks after the end of a cut log', () => {
    const tally = tallyOf(101);
    tally.forgetBefore(40);
    expect(tally.marksFrom(0)[0]?.sequence).toBe(41);
    tally.cutAt(70);
    expect(tally.marksFrom(0).at(-1)?.sequence).toBe(61);
    expect(tally.before(1, 0)?.sequence).toBe(61);
    expect(tally.count).toBe(101);
  });
});
