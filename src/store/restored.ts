/**
 * How a store from a backup goes on: everything that was stored after the backup is lost, and somebody may know of it.
 *
 * Its numbers go on far above any that a lost entry can have had, and it gets a new identity. A client that comes back
 * to an event stream or a page with a lost number is told that it has missed something, and never takes a new alarm for
 * one that it has.
 */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { HistoryLog } from './history/history-log.js';
import type { Keys } from './keys.js';
import type { Store } from './store.js';
import type { StoreWitness } from './witness.js';

/** Its presence in the data directory says that the store is from a backup, and has not been started since. */
export const RESTORED_FILE = 'restored-backup';

/** A thousand alarms a second for eleven days. */
const STEP = 1_000_000_000;

/** Must come before anything is numbered. @returns what must follow once the witness watches the store */
export async function continueRestored(
  dataDir: string,
  store: Store,
  history: Pick<HistoryLog, 'newest'>,
  keys: Keys,
): Promise<(witness: StoreWitness) => Promise<void>> {
  const file = join(dataDir, RESTORED_FILE);
  if (!existsSync(file)) return async () => undefined;
  const newestRecord = Number(await store.read((redis) => redis.get(keys.auditSequence)));
  await store.write(
    ['SET', keys.historySequence, String((await history.newest()) + STEP)],
    ['SET', keys.auditSequence, String(newestRecord + STEP)],
    ['SET', keys.identity, randomUUID()],
  );
  return async (witness) => {
    witness.report({ counts: { restored: 1 } });
    await witness.check();
    // Last: a gateway that is killed before does all of it again, which leaves out more numbers.
    await rm(file);
  };
}
