import type { Context } from 'hono';
import { GatewayError } from '../errors.js';
import type { HttpEnv } from './http-env.js';

/** A camera that sends nothing for so long is gone. */
const STALLED_AFTER_MS = 30_000;

/**
 * The body of an upload, piece by piece, as fast as it is taken. Leaving off early leaves the rest to
 * the server, so that the caller can still be answered.
 *
 * @throws GatewayError `invalid-request` when it ends early
 */
export async function* uploadChunks(c: Context<HttpEnv>): AsyncGenerator<Uint8Array> {
  const { incoming, expectLongBody } = c.env;
  expectLongBody?.();
  incoming.setTimeout(STALLED_AFTER_MS, () => incoming.destroy());
  try {
    yield* incoming.iterator({ destroyOnReturn: false });
  } catch (error) {
    throw new GatewayError('invalid-request', 'The body ended early.', { cause: error });
  }
}
