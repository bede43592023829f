import type { Deliveries } from '../deliveries.js';
import { spacingFor } from '../limits.js';
import { LOG_NAMES, type LogEntry, type LogPositions, type LogReader } from '../log/log-entry.js';
import { entriesBetween, retrying } from '../log/stored-entries.js';
import type { Member, Routes, Selection } from '../routes.js';
import { Tally } from './tally.js';

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
    const withEnded = new Set<Member>(
      [...deliveries.consumers].filter((one) => one.subscriptions.hasEnded),
    );
    for await (const entry of entriesBetween(reader, log, from, last)) {
      for (const { selection, qos } of deliveries.routes.match(entry.topic)) {
        if (qos === 0 || !selection.rule.mayReceive(entry)) continue;
        for (const member of selection.members) {
          if (!withEnded.has(member)) member.cursors[log].recount(entry, true);
        }
      }
      for (const { cursors } of withEnded) cursors[log].recount(entry, false);
    }
  }
}

/**
 * Sets the marks for jumping over backlogs from before the start.
 *
 * Reads the logs once, in the background, however often the store fails; again when the store has lost
 * entries of them meanwhile. Until then such a backlog is kept whole.
 */
export async function markBacklogs(
  deliveries: Deliveries,
  reader: LogReader,
  signal: AbortSignal,
): Promise<void> {
  // `StoreMonitor` tells of a store that does not answer.
  const patient = retrying(reader, signal, () => undefined);
  // Selections created from now on begin to count later.
  const selections = new Set(deliveries.routes.selections());
  for (const log of LOG_NAMES) {
    let [upTo, counted] = [0, new Map<Selection, Tally>()];
    do {
      upTo = deliveries.newestAtStart[log];
      const floors = [...deliveries.consumers].map(({ cursors }) => cursors[log].ackFloor);
      const entries = entriesBetween(patient, log, Math.min(upTo, ...floors), upTo);
      counted = await countBySelection(deliveries.routes, selections, entries, signal);
      if (signal.aborted) return;
      // The store has lost entries meanwhile; what has their numbers now is in the tallies already.
    } while (deliveries.newestAtStart[log] < upTo);
    for (const [selection, before] of counted) selection.tallies[log].prepend(before);
  }
  for (const consumer of deliveries.consumers) consumer.marked();
}

async function countBySelection(
  routes: Routes,
  selections: ReadonlySet<Selection>,
  entries: AsyncIterable<LogEntry>,
  signal: AbortSignal,
): Promise<Map<Selection, Tally>> {
  const counted = new Map<Selection, Tally>();
  for await (const entry of entries) {
    if (signal.aborted) break;
    for (const { selection, qos } of routes.match(entry.topic)) {
      const isCounted = qos === 1 && selections.has(selection) && selection.rule.mayReceive(entry);
      if (isCounted) tallyOf(counted, selection).add(entry);
    }
  }
  return counted;
}

function tallyOf(counted: Map<Selection, Tally>, selection: Selection): Tally {
  const tally = counted.get(selection) ?? new Tally(spacingFor(selection.rule.limits));
  counted.set(selection, tally);
  return tally;
}
