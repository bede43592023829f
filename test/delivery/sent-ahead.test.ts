import { expect, it } from 'vitest';
import { type CursorState, freshCursor } from '../../src/delivery/cursor-state.js';
import { LogCursor } from '../../src/delivery/log-cursor.js';
import type { LogEntry } from '../../src/delivery/log-entry.js';
import { LogTail } from '../../src/delivery/log-tail.js';
import { ArrayLogs } from './world.js';

const ENTRIES = 7;

it('what was sent before its turn is not owed again after a crash, once its turn has come', async () => {
  const logs = new ArrayLogs();
  const tail = new LogTail(0);
  const entries: LogEntry[] = [];
  for (let n = 0; n < ENTRIES; n++) {
    const entry = await logs.append('alarms', 'a', 0);
    tail.append(entry);
    entries.push(entry);
  }
  const cursorOf = (state: CursorState): LogCursor =>
    new LogCursor({ log: 'alarms', tail, reader: logs, state, concerns: () => true });
  const send = (cursor: LogCursor): number => {
    const entry = cursor.next();
    if (typeof entry === 'string') throw new Error(entry);
    cursor.sent(entry.sequence);
    return entry.sequence;
  };

  const cursor = cursorOf(freshCursor(0));
  for (const entry of entries) cursor.accept(entry);
  expect([send(cursor), send(cursor), send(cursor)]).toEqual([1, 2, 3]);
  cursor.sentAhead(5);
  cursor.acknowledged(5);
  expect([send(cursor), send(cursor)]).toEqual([4, 6]);

  const restarted = cursorOf(JSON.parse(JSON.stringify(cursor.state)));
  for (const entry of entries) restarted.recount(entry);
  restarted.recounted();
  expect(restarted.accepted).toBe(ENTRIES);
  expect(restarted.delivered).toBe(1);
  const sent = Array.from({ length: ENTRIES - 1 }, () => send(restarted));
  expect(sent).toEqual([1, 2, 3, 4, 6, 7]);
});

it('what went ahead of the last one in flight is not owed again after a crash', async () => {
  const logs = new ArrayLogs();
  const tail = new LogTail(0);
  const entries: LogEntry[] = [];
  for (let n = 0; n < 5; n++) {
    const entry = await logs.append('alarms', 'a', 0);
    tail.append(entry);
    entries.push(entry);
  }
  const options = { log: 'alarms' as const, tail, reader: logs, concerns: () => true };
  const cursor = new LogCursor({ ...options, state: freshCursor(0) });
  for (const entry of entries) cursor.accept(entry);
  for (const ahead of [4, 5]) {
    cursor.sentAhead(ahead);
    cursor.acknowledged(ahead);
  }
  for (const inTurn of [1, 2, 3]) {
    cursor.next();
    cursor.sent(inTurn);
  }
  cursor.acknowledged(1);
  cursor.acknowledged(2);
  for (const caughtUp of [false, true]) {
    if (caughtUp) expect(cursor.next()).toBe('caught-up');
    const restarted = new LogCursor({
      ...options,
      state: JSON.parse(JSON.stringify(cursor.state)),
    });
    for (const entry of entries) restarted.recount(entry);
    restarted.recounted();
    expect([restarted.queued, restarted.accepted]).toEqual([1, 5]);
  }
});
