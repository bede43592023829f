import { processorMs } from '../../../test/former/gateway/process-usage.js';
import type { LoadProcess } from '../../../test/former/load-process.js';
import type { Offer } from '../../../test/harness/load/plan.js';
import { isLevel, receivedBySlowest, reportWhen, WINDOW } from './loads.js';
import type { Metric } from './measure.js';
import type { Scale } from './scale.js';
import { count, microseconds } from './show.js';

const SECOND_MS = 1000;
const MICROSECONDS_PER_MS = 1000;

export const SUSTAINED_METRICS: readonly Metric[] = [
  { key: 'perSecond', title: 'received/s', better: 'more', show: count },
  { key: 'acknowledgedPerSecond', title: 'acknowledged/s', better: 'more', show: count },
  { key: 'processorMicroseconds', title: 'processor each', better: 'less', show: microseconds },
];

export interface Sustained {
  readonly values: Readonly<Record<string, number>>;
  readonly notes: readonly string[];
}

/**
 * Measures what the slowest subscriber receives per second while every device has its window under way.
 *
 * @param processIds whose processor time to count, per message, no matter how many receive it
 */
export async function sustain(
  load: LoadProcess,
  processIds: readonly number[],
  { warmUpMs, measuredMs, levelWithinMs }: Scale,
  underWayTo: Offer['underWayTo'],
): Promise<Sustained> {
  const before = await load.offer({ window: WINDOW, underWayTo, durationMs: warmUpMs });
  const usedBeforeMs = await usedMs(processIds);
  const begunMs = performance.now();
  const after = await load.offer({ window: WINDOW, underWayTo, durationMs: measuredMs });
  const seconds = (performance.now() - begunMs) / SECOND_MS;
  const used = (await usedMs(processIds)) - usedBeforeMs;
  const received = receivedBySlowest(after) - receivedBySlowest(before);
  return {
    values: {
      perSecond: received / seconds,
      acknowledgedPerSecond: (after.acknowledged - before.acknowledged) / seconds,
      ...(received > 0 && { processorMicroseconds: (used * MICROSECONDS_PER_MS) / received }),
    },
    notes: await fallenBehind(load, levelWithinMs),
  };
}

/** Reports subscribers that do not catch up after the end of the load, and messages that never came. */
async function fallenBehind(load: LoadProcess, withinMs: number): Promise<string[]> {
  const atEnd = await load.report();
  const report = await reportWhen(load, isLevel, withinMs);
  const notes: string[] = [];
  const missing = Math.max(...report.readers.map((reader) => reader.missing));
  if (missing > 0) notes.push(`${count(missing)} never came`);
  if (isLevel(report)) return notes;
  const behind = (one: typeof report) => one.sent - receivedBySlowest(one);
  const text = `falls behind: ${count(behind(atEnd))} at the end of the load`;
  return [...notes, `${text}, ${count(behind(report))} ${withinMs / SECOND_MS} s later`];
}

async function usedMs(processIds: readonly number[]): Promise<number> {
  const times = await Promise.all(processIds.map(processorMs));
  return times.reduce((sum, ms) => sum + ms, 0);
}
