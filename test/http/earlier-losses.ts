import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Writes the losses of an earlier start; returns their ids, newest first. */
export async function writeLosses(dataDir: string, count: number): Promise<string[]> {
  if (count === 0) return [];
  const ids = Array.from({ length: count }, () => randomUUID());
  const losses = ids.toReversed().map((id) => ({
    ...{ id, what: 'alarms', detectedAtMs: Date.now(), from: 801, to: 1000, count: 200 },
    detail: 'The store is back at an earlier state.',
    ...{ acknowledgedAtMs: null, acknowledgedBy: null },
  }));
  await writeFile(join(dataDir, 'losses.json'), JSON.stringify(losses));
  return ids;
}
