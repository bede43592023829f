import type { Context } from 'hono';

/** How much of a body is handed to a connection at a time. */
const PIECE_BYTES = 64 * 1024;

/**
 * Answers with bytes that all answers share.
 *
 * The bytes go out piece by piece, as fast as the client takes them: a `Response` of bytes would copy them
 * whole for every request, even for a client that reads nothing.
 *
 * @param bytes must not change any more
 */
export function sharedAnswer(
  c: Context,
  bytes: Uint8Array,
  headers: Readonly<Record<string, string>>,
): Response {
  return c.body(pieces(bytes), 200, { ...headers, 'Content-Length': String(bytes.length) });
}

function pieces(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let position = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        controller.enqueue(bytes.subarray(position, position + PIECE_BYTES));
        position += PIECE_BYTES;
        if (position >= bytes.length) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}
