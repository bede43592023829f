import type { Context } from 'hono';
import type { Logger } from 'pino';
import { GatewayError } from '../../errors.js';
import type { RecordingFile } from '../../site/footage-store.js';
import { whoAsks } from '../actor.js';
import type { HttpEnv } from '../http-env.js';
import { bodyStream } from './body-stream.js';
import { isNamed } from './entity-tag.js';

/** A part of a representation; both ends are inclusive. */
interface ByteRange {
  readonly first: number;
  readonly last: number;
}

const BYTES_RANGE = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i;

/**
 * Lets a browser play a recording that it opens directly, but neither run nor load anything else: its
 * player is a page with the recording as its only medium.
 */
const SECURITY_POLICY = "default-src 'none'; media-src 'self'; style-src 'unsafe-inline'; sandbox";
/** How much of a file is in memory for each client that reads it. */
const CHUNK_BYTES = 64 * 1024;
/** Timeout for a client that takes nothing. */
const STALLED_AFTER_MS = 60_000;

/**
 * Answers with the file, or the requested part of it (RFC 9110, 13 and 14).
 *
 * The file is closed with the response, however that ends.
 *
 * @throws GatewayError `range-not-satisfiable`
 */
export function fileResponse(c: Context<HttpEnv>, file: RecordingFile, log: Logger): Response {
  closeWithResponse(c, file, log);
  const { bytes, recording } = file;
  const entityTag = `"${recording.id}"`;
  const lastModified = new Date(file.modifiedAtMs).toUTCString();
  c.header('ETag', entityTag);
  c.header('Last-Modified', lastModified);
  c.header('Accept-Ranges', 'bytes');
  if (isKnown(c, entityTag, lastModified)) return c.body(null, 304);
  const range = rangeFor(c, bytes, [entityTag, lastModified]);
  if (range === 'not-satisfiable') {
    c.header('Content-Range', `bytes */${bytes}`);
    throw new GatewayError('range-not-satisfiable', `The recording has ${bytes} bytes.`);
  }
  c.header('Content-Type', recording.contentType);
  c.header('Content-Disposition', `inline; filename="${fileName(recording.key)}"`);
  c.header('Content-Security-Policy', SECURITY_POLICY);
  if (range !== undefined) c.header('Content-Range', `bytes ${range.first}-${range.last}/${bytes}`);
  const { first, last } = range ?? { first: 0, last: bytes - 1 };
  c.header('Content-Length', String(last - first + 1));
  const status = range === undefined ? 200 : 206;
  if (c.req.method === 'HEAD') return c.body(null, status);
  return c.body(bodyStream(c, chunksOf(file, { first, last }), log), status);
}

function fileName(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}

/**
 * Whether the client has this representation (RFC 9110, 13.1.2 and 13.1.3); a time counts only without
 * entity tags.
 */
function isKnown(c: Context<HttpEnv>, entityTag: string, lastModified: string): boolean {
  const tags = c.req.header('If-None-Match');
  if (tags === undefined) {
    const sinceMs = Date.parse(c.req.header('If-Modified-Since') ?? '');
    return Date.parse(lastModified) <= sinceMs;
  }
  return isNamed(entityTag, tags);
}

/**
 * The range to send; undefined (the whole) if the client has a part of another representation (RFC 9110,
 * 13.1.5), or if the method is not GET (14.2).
 */
function rangeFor(c: Context<HttpEnv>, totalBytes: number, validators: readonly string[]) {
  if (c.req.method !== 'GET') return undefined;
  const condition = c.req.header('If-Range');
  const isOfThis = condition === undefined || validators.includes(condition.trim());
  return requestedRange(isOfThis ? c.req.header('Range') : undefined, totalBytes);
}

/**
 * Parses a `Range` header (RFC 9110, 14.2); undefined for the whole representation.
 *
 * A header that is malformed, has another unit or has several ranges is ignored, as RFC 9110 allows.
 */
function requestedRange(
  header: string | undefined,
  totalBytes: number,
): ByteRange | 'not-satisfiable' | undefined {
  const [, from = '', to = ''] = BYTES_RANGE.exec(header ?? '') ?? [];
  if (from === '' && to === '') return undefined;
  const lastByte = totalBytes - 1;
  if (from === '') {
    const suffixBytes = Math.min(Number(to), totalBytes);
    return suffixBytes === 0
      ? 'not-satisfiable'
      : { first: totalBytes - suffixBytes, last: lastByte };
  }
  if (to !== '' && Number(to) < Number(from)) return undefined;
  if (Number(from) > lastByte) return 'not-satisfiable';
  const last = to === '' ? lastByte : Math.min(Number(to), lastByte);
  return { first: Number(from), last };
}

function closeWithResponse(c: Context<HttpEnv>, file: RecordingFile, log: Logger): void {
  const { outgoing } = c.env;
  const close = () => {
    file.close().catch((error: unknown) => {
      log.warn({ ...whoAsks(c), err: error }, 'failed to close a recording');
    });
  };
  if (outgoing.closed) close();
  else outgoing.once('close', close);
  outgoing.setTimeout(STALLED_AFTER_MS, () => outgoing.destroy());
}

async function* chunksOf(file: RecordingFile, { first, last }: ByteRange) {
  for (let position = first; position <= last; ) {
    const buffer = new Uint8Array(Math.min(CHUNK_BYTES, last - position + 1));
    const bytesRead = await file.read(buffer, position);
    // Ending here would leave the client with the next answer as the rest of this one.
    if (bytesRead === 0) throw new Error('the recording is shorter than it was');
    yield buffer.subarray(0, bytesRead);
    position += bytesRead;
  }
}
