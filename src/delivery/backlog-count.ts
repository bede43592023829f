import { setTimeout as delay } from 'node:timers/promises';
import type { Deliveries } from './deliveries.js';
import type { LogEntry, LogName, LogPositions, LogReader } from './log-entry.js';
import { LOG_NAMES } from './log-entry.js';
import type { Selection } from './selection.js';
import type { Mark } from './tally.js';

const PAGE_ENTRIES = 1_000;
const RETRY_AFTER_MS = 250;

/** Marks per selection that a look through the log may set; more make no jump much better. */
const MARKS = 128;

/**
 * Counts, at start, what every session accepted since its stored state was counted.
 *
 * Cheap whatever is stored: after a clean stop nothing was appended since, after a crash some thousand
 * entries at most (`Upkeep`).
 *
 * @param countedUpTo up to where every stored cursor is counted, unless its own state says later
 */
export async function countBacklogs(
  deliveries: Deliveries,
  reader: LogReader,
  countedUpTo: LogPositions,
): Promise<void> {
  for (const log of LOG_NAMES) {
    const { last } = deliveries.tails[log];
    let from = last;
    for (const consumer of deliveries.consumers) {
      consumer.beginCount(log, countedUpTo[log]);
      from = Math.min(from, consumer.cursors[log].countedUpTo);
    }
    // Selections do not know the filters that have ended.
    const withEnded = [...deliveries.consumers].filter((one) => one.subscriptions.hasEnded);
    for await (const entry of entriesAfter(reader, log, from, last)) {
      for (const { selection, qos } of deliveries.routes.match(entry.topic)) {
        if (qos === 0 || !selection.rule.mayReceive(entry)) continue;
        for (const member of selection.members) member.recount(entry);
      }
      for (const consumer of withEnded) consumer.recountEnded(entry);
    }
  }
}

/**
 * Sets the marks by which backlogs of before the start can be jumped over.
 *
 * Reads the logs once, in the background, however often the store fails: until then such a backlog is
 * kept whole.
 */
export async function markBacklogs(
  deliveries: Deliveries,
  reader: LogReader,
  upTo: LogPositions,
  signal: AbortSignal,
): Promise<void> {
  // Those that are made from now on begin to count later.
  const selections = new Set(deliveries.routes.selections());
  for (const log of LOG_NAMES) {
    const floors = [...deliveries.consumers].map(({ cursors }) => cursors[log].settled);
    const from = Math.min(upTo[log], ...floors);
    const spacing = Math.max(1, Math.ceil((upTo[log] - from) / MARKS));
    const counts = new Map<Selection, Mark[]>();
    for await (const entry of entriesAfter(retrying(reader, signal), log, from, upTo[log])) {
      if (signal.aborted) return;
      for (const { selection, qos } of deliveries.routes.match(entry.topic)) {
        const isCounted =
          qos === 1 && selections.has(selection) && selection.rule.mayReceive(entry);
        if (isCounted) mark(counts, selection, entry, spacing);
      }
    }
    for (const [selection, marks] of counts) {
      const total = marks.at(-1);
      if (total === undefined) continue;
      // Counted backwards from the start, at which the selection's own count began with zero.
      const before = marks.map(({ count, bytes, ...at }) => {
        return { ...at, count: count - total.count, bytes: bytes - total.bytes };
      });
      selection.tallies[log].prepend(before);
    }
  }
  for (const consumer of deliveries.consumers) consumer.marked();
}

/** The last mark moves with the count until it is far enough from the one before. */
function mark(
  counts: Map<Selection, Mark[]>,
  selection: Selection,
  { sequence, receivedAtMs, payload }: LogEntry,
  spacing: number,
): void {
  const marks = counts.get(selection) ?? [];
  counts.set(selection, marks);
  const last = marks.at(-1);
  const before = marks.at(-2);
  if (last !== undefined && last.sequence - (before?.sequence ?? 0) < spacing) marks.pop();
  const count = (last?.count ?? 0) + 1;
  const bytes = (last?.bytes ?? 0) + payload.length;
  marks.push({ sequence, receivedAtMs, count, bytes });
}

/** Reads until the store answers, or the gateway stops. */
function retrying(reader: LogReader, signal: AbortSignal): Pick<LogReader, 'read'> {
  return {
    async read(log, afterSequence, count) {
      for (;;) {
        try {
          return await reader.read(log, afterSequence, count);
        } catch (error) {
          if (signal.aborted) throw error;
          await delay(RETRY_AFTER_MS);
        }
      }
    },
  };
}

async function* entriesAfter(
  reader: Pick<LogReader, 'read'>,
  log: LogName,
  sequence: number,
  last: number,
): AsyncGenerator<LogEntry> {
  let after = sequence;
  while (after < last) {
    const page = await reader.read(log, after, PAGE_ENTRIES);
    for (const entry of page) if (entry.sequence <= last) yield entry;
    const newest = page.at(-1);
    if (newest === undefined || page.length < PAGE_ENTRIES) return;
    after = newest.sequence;
  }
}
