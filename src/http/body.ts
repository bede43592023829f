/** Request bodies: JSON of a bounded size, and bytes as they come. */

import { decodeUtf8, isJson } from '../domain/json.js';
import { GatewayError } from '../errors.js';
import type { HttpContext } from './frame.js';

export const JSON_MEDIA_TYPE = 'application/json';
const BYTE_ORDER_MARK = '\ufeff';

/**
 * Reads a JSON body as text.
 *
 * @param withoutBody the JSON to assume for an empty body; undefined if the body is required
 * @throws GatewayError `unsupported-media-type`, `body-too-large`, `invalid-request`
 */
export async function readJson(
  c: HttpContext,
  maxBytes: number,
  withoutBody?: string,
): Promise<string> {
  requireMediaType(c, [JSON_MEDIA_TYPE]);
  const bytes = await readBody(c, maxBytes);
  if (bytes === undefined) {
    throw new GatewayError('body-too-large', `The body exceeds ${maxBytes} bytes.`);
  }
  const text = bytes.length === 0 ? (withoutBody ?? '') : decodeUtf8(bytes);
  if (text !== undefined && isJson(text)) return text;
  const without = text?.startsWith(BYTE_ORDER_MARK) ? ', without a byte order mark' : '';
  throw new GatewayError('invalid-request', `The body must be JSON in UTF-8${without}.`);
}

/**
 * The media type of the body, in lower case and without parameters.
 *
 * JSON is UTF-8 whatever a `charset` says (RFC 8259, 8.1 and 11). Without a body, returns the first supported type,
 * because the type is not the mistake then.
 *
 * @throws GatewayError `unsupported-media-type` also for a body in a content coding (RFC 9110, 15.5.16)
 */
export function requireMediaType<Supported extends string>(
  c: HttpContext,
  supported: readonly [Supported, ...Supported[]],
): Supported {
  const contentType = c.req.header('Content-Type');
  if (contentType === undefined && !hasBody(c)) return supported[0];
  const [mediaType = ''] = (contentType ?? '').split(';');
  const found = supported.find((type) => type === mediaType.trim().toLowerCase());
  if (found === undefined || isEncoded(c)) {
    throw new GatewayError('unsupported-media-type', `The body must be ${supported.join(' or ')}.`);
  }
  return found;
}

/** Whether the body is in a content coding. */
export function isEncoded(c: HttpContext): boolean {
  return (c.req.header('Content-Encoding') ?? 'identity').toLowerCase() !== 'identity';
}

/** Whether the request has a body (RFC 9112, 6.3). */
function hasBody(c: HttpContext): boolean {
  return (
    Number(c.req.header('Content-Length') ?? 0) > 0 ||
    c.req.header('Transfer-Encoding') !== undefined
  );
}

/**
 * Reads the body up to the limit.
 *
 * @returns undefined when the body is larger; the server drains the rest
 * @throws GatewayError `invalid-request` when the caller breaks off
 */
export async function readBody(c: HttpContext, maxBytes: number): Promise<Uint8Array | undefined> {
  if (Number(c.req.header('Content-Length') ?? 0) > maxBytes) return undefined;
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of bodyChunks(c)) {
    length += chunk.length;
    if (length > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Tells a client that holds back its body to send it (RFC 9110, 10.1.1). */
function askForBody({ env: { incoming, outgoing } }: HttpContext): void {
  const isAwaited = incoming.headers.expect?.toLowerCase() === '100-continue';
  if (isAwaited && incoming.httpVersion === '1.1') outgoing.writeContinue();
}

/**
 * The body, piece by piece, as fast as the reader takes it. A reader that stops early leaves the rest to the server, so
 * the caller still gets an answer.
 *
 * @throws GatewayError `invalid-request` when the body ends early
 */
export async function* bodyChunks(c: HttpContext): AsyncGenerator<Uint8Array> {
  askForBody(c);
  try {
    yield* c.env.incoming.iterator({ destroyOnReturn: false });
  } catch (error) {
    throw new GatewayError('invalid-request', 'The body ended early.', { cause: error });
  }
}
