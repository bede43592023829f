import { GatewayError } from '../errors.js';
import { unlessOfAnotherType } from './failures.js';
import type { Keys } from './keys.js';
import type { Store } from './store.js';

/** The layout that this program reads and writes. */
const LAYOUT = '1';

/**
 * Checks that the store has the layout of this program; a store without a number gets it.
 *
 * @throws GatewayError `start-failed` when it has another one
 */
export async function requireLayout(store: Store, keys: Keys): Promise<void> {
  const layout =
    (await unlessOfAnotherType(store.read((redis) => redis.get(keys.layout)))) ?? undefined;
  if (layout === LAYOUT) return;
  if (layout !== undefined) {
    throw new GatewayError(
      'start-failed',
      `the store has layout ${layout}, and this program has layout ${LAYOUT}: install the version ` +
        'that wrote it, or move its data away as a backup and start with an empty store',
    );
  }
  // A store that is full still serves: the next start writes the number.
  await store.write(['SET', keys.layout, LAYOUT]).catch(() => undefined);
}
