import type { Context, MiddlewareHandler } from 'hono';
import { decodeUtf8, isJson } from '../domain/json.js';
import { GatewayError } from '../errors.js';
import { checkAgain, type HttpEnv } from './http-env.js';

export const JSON_MEDIA_TYPE = 'application/json';
const BYTE_ORDER_MARK = '\ufeff';

/**
 * Checks the body of every route that takes JSON, for the validators after it.
 *
 * Rejects a body of another content type, beyond the limit, not in UTF-8 or not JSON.
 *
 * @param withoutBody the JSON to assume for an empty body; undefined if the body is required
 * @throws GatewayError `unsupported-media-type`, `body-too-large`, `invalid-request`
 */
export function jsonBody(maxBytes: number, withoutBody?: string): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    requireMediaType(c, [JSON_MEDIA_TYPE]);
    const bytes = await readBody(c, maxBytes);
    if (bytes === undefined) {
      throw new GatewayError('body-too-large', `The body exceeds ${maxBytes} bytes.`);
    }
    const isEmpty = bytes.length === 0;
    const text = isEmpty && withoutBody !== undefined ? withoutBody : decodeUtf8(bytes);
    if (text === undefined || !isJson(text)) {
      const without = text?.startsWith(BYTE_ORDER_MARK) ? ', without a byte order mark' : '';
      throw new GatewayError('invalid-request', `The body must be JSON in UTF-8${without}.`);
    }
    const { method, url, raw } = c.req;
    const headers = new Headers(raw.headers);
    headers.set('Content-Type', JSON_MEDIA_TYPE);
    c.req.raw = new Request(url, { method, headers, body: text });
    await next();
  };
}

/**
 * The media type of the body, in lower case and without parameters.
 *
 * JSON is UTF-8 whatever a `charset` says (RFC 8259, 8.1 and 11). Without a body, returns the first supported
 * type, because the type is not the mistake then.
 *
 * @throws GatewayError `unsupported-media-type` also for a body in a content coding (RFC 9110, 15.5.16)
 */
export function requireMediaType<Supported extends string>(
  c: Context<HttpEnv>,
  supported: readonly [Supported, ...Supported[]],
): Supported {
  const contentType = c.req.header('Content-Type');
  if (contentType === undefined && !hasBody(c)) return supported[0];
  const [mediaType = ''] = (contentType ?? '').split(';');
  const found = supported.find((type) => type === mediaType.trim().toLowerCase());
  const coding = c.req.header('Content-Encoding') ?? 'identity';
  if (found === undefined || coding.toLowerCase() !== 'identity') {
    throw new GatewayError('unsupported-media-type', `The body must be ${supported.join(' or ')}.`);
  }
  return found;
}

/** Whether the request has a body (RFC 9112, 6.3). */
function hasBody(c: Context<HttpEnv>): boolean {
  return (
    Number(c.req.header('Content-Length') ?? 0) > 0 ||
    c.req.header('Transfer-Encoding') !== undefined
  );
}

/**
 * Reads the body up to the limit, and repeats the guards' checks.
 *
 * A caller who holds back the last byte until the token is gone must not get through.
 *
 * @returns undefined when the body is larger; the server drains the rest
 * @throws GatewayError `invalid-request` when the caller breaks off, and the errors of the route's guards
 */
export async function readBody(
  c: Context<HttpEnv>,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  if (Number(c.req.header('Content-Length') ?? 0) > maxBytes) return undefined;
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of bodyChunks(c)) {
    length += chunk.length;
    if (length > maxBytes) return undefined;
    chunks.push(chunk);
  }
  checkAgain(c);
  return Buffer.concat(chunks);
}

/** Tells a client that holds back its body to send it (RFC 9110, 10.1.1). */
export function askForBody({ env: { incoming, outgoing } }: Context<HttpEnv>): void {
  const isAwaited = incoming.headers.expect?.toLowerCase() === '100-continue';
  if (isAwaited && incoming.httpVersion === '1.1') outgoing.writeContinue();
}

/** Reads chunks without cancelling the stream: cancelling would destroy the socket before the answer. */
async function* bodyChunks(c: Context<HttpEnv>): AsyncGenerator<Uint8Array> {
  const reader = c.req.raw.body?.getReader();
  if (reader === undefined) return;
  askForBody(c);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } catch (error) {
    throw new GatewayError('invalid-request', 'The body ended early.', { cause: error });
  } finally {
    reader.releaseLock();
  }
}
