import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Context } from 'hono';
import { accepts } from 'hono/accepts';
import type { HttpEnv } from './http-env.js';

/** How much of a body is handed to a connection at a time. */
const PIECE_BYTES = 64 * 1024;

/**
 * An answer with bytes that all clients share, compressed once for those who accept that.
 *
 * The bytes go out piece by piece, as fast as the client takes them: a `Response` of bytes would copy them
 * whole for every request, even for a client that reads nothing.
 */
export class SharedAnswer {
  readonly #bytes: Uint8Array;
  readonly #headers: Readonly<Record<string, string>>;
  #compressed: Promise<Uint8Array> | undefined;

  /** @param bytes must not change any more */
  constructor(bytes: Uint8Array, headers: Readonly<Record<string, string>>) {
    this.#bytes = bytes;
    this.#headers = { ...headers, Vary: 'Accept-Encoding' };
  }

  async to(c: Context<HttpEnv>): Promise<Response> {
    const length = (bytes: Uint8Array) => ({ 'Content-Length': String(bytes.length) });
    const supports = ['identity', 'gzip'];
    const coding = accepts(c, { header: 'Accept-Encoding', supports, default: 'identity' });
    if (coding === 'identity') {
      return c.body(pieces(this.#bytes), 200, { ...this.#headers, ...length(this.#bytes) });
    }
    // In a thread of its own: it takes as long as dozens of alarms.
    this.#compressed ??= promisify(gzip)(this.#bytes);
    const bytes = await this.#compressed;
    const headers = { ...this.#headers, ...length(bytes), 'Content-Encoding': 'gzip' };
    return c.body(pieces(bytes), 200, headers);
  }
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
