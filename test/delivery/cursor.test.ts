import { expect, it } from 'vitest';
import { Tally } from '../../src/delivery/backlog/tally.js';
import { Cursor } from '../../src/delivery/cursors/cursor.js';
import { type CursorState, freshCursor } from '../../src/delivery/cursors/cursor-state.js';
import type { LogEntry } from '../../src/delivery/log/log-entry.js';
import { LogTail } from '../../src/delivery/log/log-tail.js';
import { ArrayLogs } from './array-logs.js';
import { numbered } from './running-delivery.js';

/** A log of this many entries, and cursors that have accepted all of them. */
async function logOf(count: number) {
  const logs = new ArrayLogs();
  const tail = new LogTail(0);
  const tally = new Tally({ entries: 10, bytes: 1e9, ms: 1e9 });
  const entries: LogEntry[] = [];
  const items = Array.from({ length: count }, (_, n) => numbered(n + 1, 'a'));
  for (const [index, { sequence }] of (await logs.append('alarms', items)).entries()) {
    const entry = { ...(items[index] ?? numbered(0, 'a')), log: 'alarms' as const, sequence };
    entries.push(entry);
    tail.append(entry);
    tally.add(entry);
  }
  const options = {
    log: 'alarms' as const,
    tail,
    reader: logs,
    concerns: () => true,
    onLost: () => undefined,
  };
  const fresh = (): Cursor => {
    const cursor = new Cursor({ ...options, state: freshCursor(0) });
    cursor.follow(new Tally({ entries: 10, bytes: 1e9, ms: 1e9 }), 0);
    cursor.follow(tally, 0);
    for (const entry of entries) cursor.recount(entry, true);
    cursor.marked();
    return cursor;
  };
  /** A cursor restarted from its saved state, or from one saved before anything was appended. */
  const restarted = (state: CursorState): Cursor => {
    const cursor = new Cursor({ ...options, state: JSON.parse(JSON.stringify(state)) });
    cursor.beginCount(0);
    for (const entry of entries) cursor.recount(entry, true);
    cursor.follow(new Tally({ entries: 10, bytes: 1e9, ms: 1e9 }), 0);
    return cursor;
  };
  return { entries, fresh, restarted, logs, tail, tally };
}

function send(cursor: Cursor): number {
  const entry = cursor.next(0);
  if (typeof entry === 'string') throw new Error(entry);
  cursor.sent(entry);
  return entry.sequence;
}

it.each([true, false])(
  'does not send an entry again after a crash when it was sent before its turn (counted: %s)',
  async (isCounted) => {
    const { entries, fresh, restarted } = await logOf(7);
    const cursor = fresh();
    expect([send(cursor), send(cursor), send(cursor)]).toEqual([1, 2, 3]);
    const [, , , , fifth] = entries;
    if (fifth === undefined) throw new Error('none');
    cursor.sentAhead(fifth);
    cursor.acknowledged(5);
    expect([send(cursor), send(cursor)]).toEqual([4, 6]);

    const { state } = cursor;
    const saved = isCounted ? state : { ...state, unread: 0, unreadBytes: 0, countedUpTo: 0 };
    const again = restarted(saved);
    expect([again.accepted, again.delivered]).toEqual([7, 1]);
    const sent = Array.from({ length: 6 }, () => send(again));
    expect(sent).toEqual([1, 2, 3, 4, 6, 7]);
    expect(again.next(0)).toBe('caught-up');
  },
);

it('does not send an entry again after a crash when it went ahead of the last one in flight', async () => {
  const { entries, fresh, restarted } = await logOf(5);
  const cursor = fresh();
  for (const ahead of entries.slice(3)) {
    cursor.sentAhead(ahead);
    cursor.acknowledged(ahead.sequence);
  }
  for (let inTurn = 1; inTurn <= 3; inTurn++) expect(send(cursor)).toBe(inTurn);
  cursor.acknowledged(1);
  cursor.acknowledged(2);
  for (const caughtUp of [false, true]) {
    if (caughtUp) expect(cursor.next(0)).toBe('caught-up');
    const again = restarted(cursor.state);
    expect([again.queued, again.accepted]).toEqual([1, 5]);
  }
});

it('sends the page that was being read when it dropped entries, then the entries kept', async () => {
  const { fresh, tail } = await logOf(1_000);
  tail.restart(tail.last);
  const cursor = fresh();
  expect(cursor.next(0)).toBe('not-loaded');
  await cursor.position.load();
  expect([send(cursor), send(cursor)]).toEqual([1, 2]);
  expect(cursor.dropBeyond(100, 1e9)).toBe(true);
  // More than half of the bound was in memory: it is dropped with the rest.
  expect(cursor.queued).toBeLessThanOrEqual(102);
  expect(cursor.accepted).toBe(1_000);
});

it('keeps the page in memory when it drops, also after a rewind and a restart', async () => {
  const { fresh, restarted, tail } = await logOf(2_000);
  tail.restart(tail.last);
  const cursor = fresh();
  expect(cursor.next(0)).toBe('not-loaded');
  await cursor.position.load();
  expect([send(cursor), send(cursor)]).toEqual([1, 2]);
  expect(cursor.dropBeyond(1_200, 1e9)).toBe(true);
  expect([cursor.accepted, cursor.unread <= 1_200]).toEqual([2_000, true]);
  const { dropped, state } = cursor;
  expect(dropped).toBeGreaterThan(790);
  cursor.rewind();
  for (const one of [cursor, restarted(state)]) {
    const seen: number[] = [];
    for (let entry = one.next(0); entry !== 'caught-up'; entry = one.next(0)) {
      if (entry === 'not-loaded') await one.position.load();
      else {
        one.sent(entry);
        seen.push(entry.sequence);
      }
    }
    expect(seen.slice(0, 500)).toEqual(Array.from({ length: 500 }, (_, n) => n + 1));
    expect(seen).toHaveLength(2_000 - dropped);
    expect(seen.at(-1)).toBe(2_000);
    expect([one.expired, one.dropped]).toEqual([0, dropped]);
  }
});

it('drops nothing while a page is being loaded', async () => {
  const { fresh, tail } = await logOf(1_000);
  tail.restart(tail.last);
  const cursor = fresh();
  cursor.next(0);
  const loaded = cursor.position.load();
  expect(cursor.dropBeyond(100, 1e9)).toBe(false);
  await loaded;
  expect(cursor.dropBeyond(100, 1e9)).toBe(true);
});
