import { GatewayError } from '../errors.js';

/**
 * Runs a call to the store for a caller who waits for the answer.
 *
 * Any failure (closed connection, timeout, full memory) is `store-unavailable` to the caller.
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

/** Errors of a store that is full, loading or being replaced, or whose lease another gateway has. */
const TEMPORARY_ERRORS: readonly string[] = [
  'OOM',
  'MISCONF',
  'READONLY',
  'LOADING',
  'BUSY',
  'MASTERDOWN',
  'CLUSTERDOWN',
  'TRYAGAIN',
  'MOVED',
  'ASK',
  'NOREPLICAS',
  'FENCED',
];

/**
 * Runs a write that the caller retries while the store cannot take it.
 *
 * @throws GatewayError `store-unavailable` for a temporary error; any other error as it is
 */
export async function writing<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    const message = error instanceof Error ? error.message : '';
    const temporary = TEMPORARY_ERRORS.find((code) => message.startsWith(code));
    if (temporary === undefined) throw error;
    const detail = `The store refuses to write (${temporary}).`;
    throw new GatewayError('store-unavailable', detail, { cause: error });
  }
}
