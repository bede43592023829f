import type { Context } from 'hono';
import type { Logger } from 'pino';
import { whoAsks } from './actor.js';
import { connectionOf } from './http-connection.js';
import type { HttpEnv } from './http-env.js';
import { isOwnFailure, toGatewayError } from './problem.js';

/** Streams a body piece by piece, each in a turn and no faster than the client takes it. */
export function textStream(
  c: Context<HttpEnv>,
  pieces: AsyncGenerator<string>,
  log: Logger,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const endTurn = await connectionOf(c.env.incoming)?.turn();
        try {
          const { done, value } = await pieces.next();
          if (done === true) controller.close();
          else controller.enqueue(encoder.encode(value));
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
