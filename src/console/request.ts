/**
 * Requests to the gateway: with the signed-in token and the language, within a time limit, and with its problem
 * documents (RFC 9457) as failures. JSON keeps its numbers as written.
 */

import { language } from './language.js';
import { session } from './session.js';

/** Without it, a connection that has died silently would leave a button disabled. */
const TIMEOUT_MS = 15_000;

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** The options of a request that a page chooses. */
export type RequestOptions = {
  readonly signal?: AbortSignal;
  /** Whether the browser sends it even if the page is left at this moment. */
  readonly keepalive?: boolean;
};

/** Parameters; undefined ones are left out, and lists are separated by commas. */
type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>;

type Request = RequestOptions & {
  readonly query?: Query;
  /** JSON. */
  readonly body?: string;
  /** The entity tag of what it changes. */
  readonly ifMatch?: string;
  readonly accept?: string;
  /** Whether it has no time limit. */
  readonly mayTakeLong?: boolean;
};

/** Why a request failed: a problem document of the gateway, or no answer at all. */
export interface Failure {
  /** The stable code of the problem; `no-answer` when the gateway did not answer. */
  readonly code: string;
  /** The gateway's own words, if any. */
  readonly detail: string | undefined;
  /** The errors in an invalid input, by their path in the body. */
  readonly errors: readonly { readonly path: string; readonly message: string }[];
}

/** Thrown when the gateway refuses a request. */
export class Refusal extends Error {
  readonly failure: Failure;

  constructor(problem: unknown) {
    const failure = failureIn(problem);
    super(failure.code);
    this.failure = failure;
  }
}

/** The failure to show for an error that a request threw. */
export function failureOf(error: unknown): Failure {
  return error instanceof Refusal ? error.failure : failureIn(undefined);
}

function failureIn(problem: unknown): Failure {
  const { code, detail, errors } = recordOf(problem);
  if (typeof code !== 'string') return { code: 'no-answer', detail: undefined, errors: [] };
  return { code, detail: textOf(detail), errors: Array.isArray(errors) ? errors.map(faultOf) : [] };
}

function faultOf(error: unknown): Failure['errors'][number] {
  const { path, message } = recordOf(error);
  return { path: textOf(path) ?? '', message: textOf(message) ?? '' };
}

/**
 * Sends a request.
 *
 * The token is read before anything is awaited, so a request sent while the user signs out still carries it.
 *
 * @param path below the page, as the gateway may be below a path of a proxy
 * @throws Refusal if the gateway refuses it, an error if somebody else uses the console by then, and what `fetch` throws
 */
export async function send(method: Method, path: string, request: Request = {}): Promise<Response> {
  const { query = {}, body, ifMatch, accept = 'application/json', mayTakeLong = false } = request;
  const { signal, keepalive = false } = request;
  const token = session.token.peek();
  const headers = new Headers({ Accept: accept });
  headers.set('Accept-Language', language.peek());
  if (token !== null) headers.set('Authorization', `Bearer ${token}`);
  if (body !== undefined) headers.set('Content-Type', 'application/json');
  if (ifMatch !== undefined) headers.set('If-Match', ifMatch);
  const signals = signal === undefined ? [] : [signal];
  if (!mayTakeLong) signals.push(AbortSignal.timeout(TIMEOUT_MS));
  const init = { method, headers, body, keepalive, signal: AbortSignal.any(signals) };
  const response = await fetch(`./${path}${queryText(query)}`, init);
  if (response.status === 401 && token !== null) session.refused(token);
  // Whoever uses the console now may not see it: it may be a secret.
  if (session.token.peek() !== token) throw new Error('The answer is to a token that has gone.');
  if (response.ok) return response;
  // The answer of a proxy may be no JSON.
  throw new Refusal(await response.json().catch(() => undefined));
}

function queryText(query: Query): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}

/** Sends a request, and reads the JSON of the answer. */
export async function call<Answer = void>(
  method: Method,
  path: string,
  request?: Request,
): Promise<Answer> {
  const response = await send(method, path, request);
  return JSON.parse(withExactNumbers((await response.text()) || 'null'));
}

/** Matches everything that exists (RFC 9110, 13.1.1). */
export const ANY_TAG = '*';

/** JSON, and its entity tag (RFC 9110, 8.8.3), to send with a change of what was read. */
export interface Tagged {
  readonly text: string;
  readonly tag: string;
}

/** Sends a request, and returns the answer as text with its entity tag. */
export async function callTagged(method: Method, path: string, request?: Request): Promise<Tagged> {
  const response = await send(method, path, request);
  // A compressing proxy makes it weak, and a weak tag permits no change (RFC 9110, 8.8.3.3).
  const tag = response.headers.get('ETag')?.replace(/^W\//, '') ?? ANY_TAG;
  return { text: await response.text(), tag };
}

// Devices may send numbers that JavaScript rounds: `9007199254740993`, `1.10`. They stay as written.

/** Marks a string that contains the text of a number. */
const MARK = '\uE000';
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;
const MARKED_NUMBER = /"\uE000(-?\d[\d.eE+-]*)"/g;

/** Parses JSON; a number that JavaScript would write differently becomes a marked string. */
export function parseExactJson(text: string): unknown {
  return JSON.parse(withExactNumbers(text));
}

function withExactNumbers(text: string): string {
  return text.replace(STRING_OR_NUMBER, (token) =>
    token.startsWith('"') || String(Number(token)) === token ? token : `"${MARK}${token}"`,
  );
}

/** Writes a value with its numbers as received. */
export function exactJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, undefined, indent).replace(MARKED_NUMBER, '$1');
}

/** A string, or the number that it stands for, for display. */
export function plainText(text: string): string {
  return text.startsWith(MARK) ? text.slice(MARK.length) : text;
}

/** A JSON object; each member must be checked. */
type JsonRecord = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value, or an empty object if it is not one. */
export function recordOf(value: unknown): JsonRecord {
  return isRecord(value) ? value : {};
}

/** The value as a list of texts, without anything that is not a text. */
export function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** What the page says of its gateway. */
interface OwnValues {
  readonly version: string;
  /** For MQTT. */
  readonly ports: { readonly plain: number; readonly tls: number };
  /** The path of its own certificate authority; empty if it has none. */
  readonly ca: string;
}

export function ownValues(): OwnValues {
  const { dataset } = document.querySelector<HTMLElement>('meta[name=gateway]') ?? {};
  const { version = '', mqtt, mqtts, ca = '' } = dataset ?? {};
  return { version, ports: { plain: Number(mqtt) || 1883, tls: Number(mqtts) || 8883 }, ca };
}
