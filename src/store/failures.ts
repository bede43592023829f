import { GatewayError } from '../errors.js';

/**
 * Runs a call to the store for a caller who waits for the answer: whatever goes wrong with it,
 * closed connection, time-out, full memory, is `store-unavailable` to him.
 *
 * @throws GatewayError `store-unavailable`, or the one that `call` throws itself
 */
export async function answering<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    throw new GatewayError('store-unavailable', 'The store does not answer.', { cause: error });
  }
}
