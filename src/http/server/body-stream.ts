import type { Context } from 'hono';
import type { Logger } from 'pino';
import { whoAsks } from '../actor.js';
import type { HttpEnv } from '../http-env.js';
import { isOwnFailure, toGatewayError } from '../problem.js';

/**
 * Streams a body piece by piece, no faster than the client takes it.
 *
 * @param takeTurn waits for a turn in which to make the next piece; returns the function that ends the turn
 */
export function bodyStream(
  c: Context<HttpEnv>,
  pieces: AsyncGenerator<Uint8Array>,
  log: Logger,
  takeTurn?: () => Promise<() => void> | undefined,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const endTurn = await takeTurn?.();
        try {
          const { done, value } = await pieces.next();
          if (done === true) controller.close();
          else controller.enqueue(value);
        } catch (error) {
          // The status is out, so ending the body early is the only sign left.
          if (!c.env.outgoing.closed) {
            const level = isOwnFailure(toGatewayError(error)) ? 'error' : 'debug';
            log[level]({ ...whoAsks(c), err: error }, 'failed to stream a response');
          }
          c.env.outgoing.destroy();
        } finally {
          endTurn?.();
        }
      },
      async cancel() {
        await pieces.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}
