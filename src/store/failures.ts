import { replyCode } from '../delivery/reply-code.js';
import { GatewayError } from '../errors.js';

/**
 * Runs a call to the store for a caller who waits for the answer.
 *
 * Any failure (closed connection, timeout, full memory) becomes `store-unavailable`.
 *
 * @throws GatewayError `store-unavailable`, or the error that `call` itself throws
 */
export async function answering<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    throw new GatewayError('store-unavailable', 'The store does not answer.', { cause: error });
  }
}

/**
 * Resolves to the value of a key, or to undefined if somebody has overwritten it with another type.
 *
 * Any other refusal says nothing about the key: the store may be busy with somebody else's script.
 */
export async function unlessOfAnotherType<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (replyCode(error) === 'WRONGTYPE') return undefined;
    throw error;
  }
}
