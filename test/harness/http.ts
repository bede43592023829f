/**
 * The HTTP interface as its clients use it. Every answer must match the gateway's own OpenAPI document, with closed
 * schemas, so no test describes an answer again.
 */

import { once } from 'node:events';
import {
  Agent,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
} from 'node:http';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { buffer as readBytes, text as readText } from 'node:stream/consumers';
import { z } from 'zod';
import { describedAt } from './described/described-origins.js';
import { ADMIN_TOKEN } from './gateway.js';

/** Timeout of a request: no answer of the gateway takes this long. */
const ANSWER_WITHIN_MS = 30_000;
/** Less than a gateway waits for the next request. */
const KEPT_FOR_MS = 1_000;
/** Keeps connections, as clients do: opening one for each request takes a fifth of its processor time. */
const AGENT = new Agent({ keepAlive: true, timeout: KEPT_FOR_MS });

/** Of this machine, and not loopback, where a proxy may be: one, or none. */
export const OUTER_ADDRESSES = Object.values(networkInterfaces())
  .flatMap((addresses = []) => addresses)
  .filter(({ family, internal }) => family === 'IPv4' && !internal)
  .map(({ address }) => address)
  .slice(0, 1);

export interface HttpPlace {
  readonly httpPort: number;
}

export interface Asking {
  /** An access token; the administrator's unless said, and none if null. */
  readonly token?: string | null | undefined;
  /** A device by its id and secret, instead of a token. */
  readonly device?: { readonly id: string; readonly secret: string };
  /** Sent as `application/json`. */
  readonly json?: unknown;
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

const recordSchema = z.record(z.string(), z.unknown());
const problemSchema = z.strictObject({
  type: z.string().startsWith('urn:problem-type:care-home-gateway:'),
  title: z.string().min(1),
  status: z.int(),
  detail: z.string().min(1),
  instance: z.string().startsWith('/').optional(),
  code: z.string().regex(/^[a-z]+(-[a-z]+)*$/),
  requestId: z.string(),
  errors: z
    .array(z.strictObject({ path: z.string(), message: z.string().min(1) }))
    .min(1)
    .optional(),
});
export type Problem = z.infer<typeof problemSchema>;

/** An answer, and how a test reads it. */
export class Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;

  constructor(status: number, headers: IncomingHttpHeaders, bytes: Buffer) {
    this.status = status;
    this.headers = headers;
    this.bytes = bytes;
  }

  get text(): string {
    return this.bytes.toString();
  }

  /** The body as JSON, for comparison with what is expected. */
  get json(): unknown {
    return JSON.parse(this.text);
  }

  /** The id of what was created. */
  get id(): string {
    return this.string('id');
  }

  /** The value at a path such as `events.0.id`; undefined where there is none. */
  at(path: string): unknown {
    let value = this.json;
    for (const level of path.split('.')) value = Object(value)[level];
    return value;
  }

  string(path: string): string {
    return z.string({ error: `no text at ${path} in ${this.text}` }).parse(this.at(path));
  }

  number(path: string): number {
    return z.number({ error: `no number at ${path} in ${this.text}` }).parse(this.at(path));
  }

  /** The objects of a list: of the body itself, or at the path. */
  list(path?: string): Record<string, unknown>[] {
    return z.array(recordSchema).parse(path === undefined ? this.json : this.at(path));
  }

  /** The problem document of a failure, with what every problem must have. */
  get problem(): Problem {
    const problem = problemSchema.parse(this.json);
    const { status, requestId, errors } = problem;
    if (this.headers['content-type'] !== 'application/problem+json') {
      throw new Error(`a problem as ${this.headers['content-type']}`);
    }
    if (status !== this.status || requestId !== this.headers['x-request-id']) {
      throw new Error(`body and head of the problem differ: ${this.text}`);
    }
    if ((errors !== undefined) !== (status === 400)) {
      throw new Error(`a 400 has errors, and nothing else: ${this.text}`);
    }
    return problem;
  }

  /** Status and code of a failure in one line, or the status of a success: `404 room-not-found`, `204`. */
  get outcome(): string {
    return this.status < 400 ? String(this.status) : `${this.status} ${this.problem.code}`;
  }
}

/**
 * Sends one request, as the administrator unless said.
 *
 * @throws Error when the answer does not match the OpenAPI document
 */
export async function ask(
  { httpPort }: HttpPlace,
  method: string,
  path: string,
  asking: Asking = {},
): Promise<Answer> {
  const { token = ADMIN_TOKEN, device, json, headers = {} } = asking;
  const body = json === undefined ? asking.body : JSON.stringify(json);
  const authorization =
    device === undefined
      ? token === null
        ? undefined
        : `Bearer ${token}`
      : `Basic ${Buffer.from(`${device.id}:${device.secret}`).toString('base64')}`;
  const sent = {
    ...(authorization !== undefined && { Authorization: authorization }),
    ...(json !== undefined && { 'Content-Type': 'application/json' }),
    ...(body !== undefined &&
      headers['Transfer-Encoding'] === undefined && {
        'Content-Length': String(Buffer.byteLength(body)),
      }),
    ...headers,
  };
  const answer = await exchange(httpPort, method, path, sent, body);
  await check(httpPort, method, path, answer, {
    mediaType: sent['Content-Type'],
    text: body === undefined ? undefined : Buffer.from(body).toString(),
  });
  return answer;
}

/** Sends a request to a URL that the gateway gave out, without a token unless said. */
export function askUrl(method: string, url: string, asking: Asking = {}): Promise<Answer> {
  const { port, pathname, search } = new URL(url);
  return ask({ httpPort: Number(port) }, method, pathname + search, { token: null, ...asking });
}

/** Sends a request that must succeed. */
export async function must(
  place: HttpPlace,
  method: string,
  path: string,
  asking?: Asking,
): Promise<Answer> {
  const answer = await ask(place, method, path, asking);
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer;
}

/** Sends raw bytes, and reads until the server closes. */
export async function rawText({ httpPort }: HttpPlace, bytes: string | Buffer): Promise<string> {
  const socket = connect({ port: httpPort, host: '127.0.0.1' });
  socket.setTimeout(ANSWER_WITHIN_MS, () => socket.destroy(new Error('no answer in time')));
  socket.write(bytes);
  return readText(socket);
}

/** Sends raw bytes, and reads one answer. */
export async function rawAsk(place: HttpPlace, bytes: string | Buffer): Promise<Answer> {
  const answer = readAnswer(await rawText(place, bytes));
  const [requestLine = ''] = bytes.toString('latin1').split('\r\n');
  const [method = '', target = ''] = requestLine.split(' ');
  // The target may be absolute (RFC 9112, 3.2.2).
  const path = target.replace(/^https?:\/\/[^/]*/, '');
  await check(place.httpPort, method, path, answer, { mediaType: undefined, text: undefined });
  return answer;
}

/** The final answer in raw text, after any interim ones (RFC 9110, 15.2). */
export function readAnswer(received: string): Answer {
  const final = received.replace(/^(HTTP\/1\.1 1\d\d [^\r\n]*\r\n\r\n)+/, '');
  const [head = '', ...rest] = final.split('\r\n\r\n');
  const [statusLine = '', ...headerLines] = head.split('\r\n');
  const headers: IncomingHttpHeaders = {};
  for (const line of headerLines) {
    const colon = line.indexOf(':');
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  const body = rest.join('\r\n\r\n');
  const isChunked = headers['transfer-encoding'] === 'chunked';
  const text = isChunked ? withoutChunks(body) : body;
  return new Answer(Number(statusLine.split(' ')[1]), headers, Buffer.from(text));
}

async function exchange(
  port: number,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array | undefined,
): Promise<Answer> {
  const place = { port, host: '127.0.0.1', agent: AGENT, timeout: ANSWER_WITHIN_MS };
  const request = httpRequest({ ...place, method, path, headers });
  request.on('timeout', () => request.destroy(new Error(`${method} ${path}: no answer in time`)));
  request.end(body);
  const [response] = await once(request, 'response').catch((error: NodeJS.ErrnoException) => {
    // A kept connection may end as the request is sent (RFC 9112, 9.3.1); without one the request is sent anew.
    if (!request.reusedSocket || error.code !== 'ECONNRESET') throw error;
    return once(
      httpRequest({ ...place, method, path, headers, agent: false }).end(body),
      'response',
    );
  });
  // The gateway may hang up on the rest of a body after its answer.
  request.on('error', () => undefined);
  return read(response, method);
}

async function read(response: IncomingMessage, method: string): Promise<Answer> {
  const { statusCode = 0, headers } = response;
  // A stream of events does not end by itself: its beginning is enough.
  const isStream = statusCode === 200 && headers['content-type'] === 'text/event-stream';
  if (!isStream || method === 'HEAD')
    return new Answer(statusCode, headers, await readBytes(response));
  const [chunk] = await once(response, 'data');
  response.destroy();
  return new Answer(statusCode, headers, chunk);
}

async function check(
  port: number,
  method: string,
  path: string,
  { status, headers, text }: Answer,
  request: { readonly mediaType: string | undefined; readonly text: string | undefined },
): Promise<void> {
  const described = await describedAt(`http://127.0.0.1:${port}`);
  described?.check({ method, path, request, status, headers, text });
}

/** Decodes chunks (RFC 9112, 7.1), but not extensions and trailers: the gateway never sends them. */
function withoutChunks(body: string): string {
  let rest = Buffer.from(body);
  const chunks: Buffer[] = [];
  for (;;) {
    const lineEnd = rest.indexOf('\r\n');
    const length = Number.parseInt(rest.toString('latin1', 0, lineEnd), 16);
    if (!(length > 0)) return Buffer.concat(chunks).toString();
    chunks.push(rest.subarray(lineEnd + 2, lineEnd + 2 + length));
    rest = rest.subarray(lineEnd + 2 + length + 2);
  }
}
