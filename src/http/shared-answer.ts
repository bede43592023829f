import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Context } from 'hono';
import { accepts } from 'hono/accepts';
import type { HttpEnv } from './http-env.js';
import { isNamed } from './server/entity-tag.js';

/** How much of a body is handed to a connection at a time. */
const PIECE_BYTES = 64 * 1024;

/**
 * An answer with bytes that all clients share, compressed once for those that accept gzip.
 *
 * The bytes go out piece by piece, as fast as the client takes them: a `Response` of bytes would copy them
 * whole for every request, even for a client that reads nothing.
 */
export class SharedAnswer {
  readonly #make: () => Uint8Array;
  readonly #headers: Readonly<Record<string, string>>;
  #content: { readonly bytes: Uint8Array; readonly tag: string } | undefined;
  #compressed: Promise<Uint8Array> | undefined;

  /** @param make makes the bytes at the first request, so the start does not wait for them */
  constructor(make: () => Uint8Array, headers: Readonly<Record<string, string>>) {
    this.#make = make;
    this.#headers = { 'Cache-Control': 'no-cache', ...headers };
  }

  async to(c: Context<HttpEnv>): Promise<Response> {
    c.header('Vary', 'Accept-Encoding', { append: true });
    const { bytes, tag } = this.#load();
    const headers = { ...this.#headers, ETag: tag };
    const known = c.req.header('If-None-Match');
    if (known !== undefined && isNamed(tag, known)) return c.body(null, 304, headers);
    const supports = ['identity', 'gzip'];
    const coding = accepts(c, { header: 'Accept-Encoding', supports, default: 'identity' });
    if (coding === 'identity') {
      return c.body(pieces(bytes), 200, { ...headers, 'Content-Length': String(bytes.length) });
    }
    // In a thread of its own: it takes as long as dozens of alarms.
    this.#compressed ??= promisify(gzip)(bytes);
    const compressed = await this.#compressed;
    const coded = { 'Content-Length': String(compressed.length), 'Content-Encoding': 'gzip' };
    return c.body(pieces(compressed), 200, { ...headers, ...coded });
  }

  #load() {
    if (this.#content !== undefined) return this.#content;
    const bytes = this.#make();
    const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
    // Weak: the same bytes, compressed or not.
    this.#content = { bytes, tag: `W/"${digest}"` };
    return this.#content;
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
