import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { Agent, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { z } from 'zod';
import { describedAt } from '../harness/described/described-origins.js';

/** Timeout of a request: no answer of the gateway takes this long. */
const ANSWER_WITHIN_MS = 30_000;
/** Less than a gateway waits for the next request. */
const KEPT_FOR_MS = 1_000;
/** Keeps connections, as clients do: opening one for each request takes a fifth of its processor time. */
const AGENT = new Agent({ keepAlive: true, timeout: KEPT_FOR_MS });

export interface CallOptions {
  readonly token?: string | undefined;
  /** Sent as `application/json`. */
  readonly json?: unknown;
  readonly body?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body as JSON, of any shape. */
  readonly json: unknown;
}

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

/** Sends one request. */
export async function call(
  port: number,
  method: string,
  path: string,
  { token, json, body, headers = {} }: CallOptions = {},
): Promise<Answer> {
  const payload = json === undefined ? body : JSON.stringify(json);
  const request = httpRequest({
    port,
    host: '127.0.0.1',
    method,
    path,
    agent: AGENT,
    timeout: ANSWER_WITHIN_MS,
    headers: {
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
      ...(json === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(payload === undefined || 'Transfer-Encoding' in headers
        ? {}
        : { 'Content-Length': String(Buffer.byteLength(payload)) }),
      ...headers,
    },
  });
  request.on('timeout', () => request.destroy(new Error(`${method} ${path}: no answer in time`)));
  request.end(payload);
  const [response] = await once(request, 'response');
  // The gateway may hang up on the rest of a body after its answer.
  request.on('error', () => undefined);
  const { statusCode, headers: received } = response;
  // A stream of events does not end on its own: its beginning is enough.
  const isStream = statusCode === 200 && received['content-type'] === 'text/event-stream';
  if (!isStream || method === 'HEAD') return answer(statusCode, received, await readText(response));
  const [chunk] = await once(response, 'data');
  response.destroy();
  return answer(statusCode, received, String(chunk));
}

function answer(status: number, headers: IncomingHttpHeaders, text: string): Answer {
  return {
    status,
    headers,
    text,
    get json(): unknown {
      return JSON.parse(text);
    },
  };
}

/** Reads a problem document, and checks what every problem must have. */
export function problemOf({ status, headers, json }: Answer): Problem {
  const problem = problemSchema.parse(json);
  if (headers['content-type'] !== 'application/problem+json') {
    throw new Error(`A problem as ${headers['content-type']}`);
  }
  if (problem.status !== status || problem.requestId !== headers['x-request-id']) {
    throw new Error(`Body and head of the problem differ: ${JSON.stringify(problem)}`);
  }
  if ((problem.errors !== undefined) !== (status === 400)) {
    throw new Error(`A 400 has errors, and nothing else: ${JSON.stringify(problem)}`);
  }
  return problem;
}

/** The status and code of a problem, for comparing in one line. */
export function failure(answered: Answer): string {
  return `${answered.status} ${problemOf(answered).code}`;
}

/** Sends raw bytes, and reads until the server closes. */
export async function rawText(
  port: number,
  bytes: string | Buffer,
  withinMs = ANSWER_WITHIN_MS,
): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.setTimeout(withinMs, () => socket.destroy(new Error('no answer in time')));
  socket.write(bytes);
  return readText(socket);
}

/** Sends the request this many times over one connection; returns the statuses of the answers. */
export async function statusesOf(port: number, head: string, count: number): Promise<number[]> {
  const last = `${head}\r\nConnection: close\r\n\r\n`;
  const received = await rawText(port, `${head}\r\n\r\n`.repeat(count - 1) + last);
  return Array.from(received.matchAll(/HTTP\/1\.1 (\d{3}) /g), ([, status]) => Number(status));
}

/** Sends raw bytes, and reads one answer, which must match the OpenAPI document. */
export async function rawExchange(
  port: number,
  bytes: string | Buffer,
  withinMs?: number,
): Promise<Answer> {
  const answered = readAnswer(await rawText(port, bytes, withinMs));
  const [requestLine = ''] = bytes.toString('latin1').split('\r\n');
  const [method = '', target = ''] = requestLine.split(' ');
  // The target may be absolute (RFC 9112, 3.2.2).
  const path = target.replace(/^https?:\/\/[^/]*/, '');
  const { status, headers, text } = answered;
  const request = { mediaType: undefined, text: undefined };
  const described = await describedAt(`http://127.0.0.1:${port}`);
  described?.check({ method, path, request, status, headers, text });
  return answered;
}

/** The final answer, after any interim ones (RFC 9110, 15.2). */
export function readAnswer(received: string): Answer {
  const final = received.replace(/^(HTTP\/1\.1 1\d\d [^\r\n]*\r\n\r\n)+/, '');
  const [head = '', ...rest] = final.split('\r\n\r\n');
  const [statusLine = '', ...headerLines] = head.split('\r\n');
  const headers = Object.fromEntries(
    headerLines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const body = rest.join('\r\n\r\n');
  const isChunked = headers['transfer-encoding'] === 'chunked';
  return answer(Number(statusLine.split(' ')[1]), headers, isChunked ? withoutChunks(body) : body);
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
