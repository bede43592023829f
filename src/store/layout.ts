import { GatewayError } from '../errors.js';
import { unlessOfAnotherType } from './failures.js';
import type { Keys } from './keys.js';
import type { Store } from './store.js';

/** The layout that this program reads and writes. */
const LAYOUT = '2';

/**
 * Checks that the store has the layout of this program. Writes the number to a store without one.
 *
 * @throws GatewayError `start-failed` when the store has another layout
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
  // A full store still serves: the next start writes the number.
  await store.write(['SET', keys.layout, LAYOUT]).catch(() => undefined);
}
