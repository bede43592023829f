import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NEVER_SEEN } from '../../../src/store/lost-data.js';

/** Writes a finding from an earlier start: the store has lost the alarms 801 to 1000. */
export async function writeLostData(dataDir: string, site: string): Promise<void> {
  const lost = { counts: {}, alarms: { from: 801, to: 1000 } };
  const finding = { lost, sinceMs: Date.now() };
  const witness = { site, store: NEVER_SEEN, finding };
  await writeFile(join(dataDir, 'store-witness.json'), JSON.stringify(witness));
}
