import type { Context } from 'hono';
import { GatewayError } from '../errors.js';
import type { HttpEnv } from './http-env.js';
import { askForBody } from './json-body.js';

/** Timeout for a camera that sends nothing. */
const STALLED_AFTER_MS = 30_000;

/**
 * Reads the body of an upload, piece by piece, as fast as it is taken.
 *
 * A consumer that stops early leaves the rest to the server, so that the caller can still be answered.
 *
 * @throws GatewayError `invalid-request` when the body ends early
 */
export async function* uploadChunks(c: Context<HttpEnv>): AsyncGenerator<Uint8Array> {
  const { incoming, expectLongBody } = c.env;
  expectLongBody?.();
  incoming.setTimeout(STALLED_AFTER_MS, () => incoming.destroy());
  askForBody(c);
  try {
    yield* incoming.iterator({ destroyOnReturn: false });
  } catch (error) {
    throw new GatewayError('invalid-request', 'The body ended early.', { cause: error });
  }
}
