import { GatewayError } from '../errors.js';

/**
 * Runs a call to the store for a caller who waits for the answer: whatever goes wrong with it,
 * closed connection, time-out, full memory, is `store-unavailable` to the caller.
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

/** Answers of a store that is full, loading or being replaced: it will take the write later. */
const PASSING_REFUSALS: readonly string[] = [
  'OOM',
  'MISCONF',
  'READONLY',
  'LOADING',
  'BUSY',
  'MASTERDOWN',
  'CLUSTERDOWN',
  'TRYAGAIN',
  'NOREPLICAS',
];

/**
 * Runs a write that is tried again by the caller as long as the store refuses it for now.
 *
 * @throws GatewayError `store-unavailable` for such a refusal; anything else as it is
 */
export async function writing<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    const message = error instanceof Error ? error.message : '';
    const refusal = PASSING_REFUSALS.find((code) => message.startsWith(code));
    if (refusal === undefined) throw error;
    const detail = `The store refuses to write (${refusal}).`;
    throw new GatewayError('store-unavailable', detail, { cause: error });
  }
}
