import type { Redis } from 'ioredis';
import { GatewayError } from '../errors.js';
import type { Keys } from './keys.js';

const LAYOUT = 1;

/**
 * Marks the store with the layout of this program.
 *
 * @throws GatewayError `start-failed` when the store has another layout
 */
export async function requireLayout(redis: Redis, keys: Keys): Promise<void> {
  const layout = await redis.get(keys.layout);
  if (layout === null) await redis.set(keys.layout, LAYOUT);
  else if (layout !== String(LAYOUT)) {
    throw new GatewayError(
      'start-failed',
      `the store has layout ${layout}, and this version of the gateway knows layout ${LAYOUT}: install the version that wrote the store, or start with an empty one`,
    );
  }
}
