import { createHmac } from 'node:crypto';
import { lookup } from 'node:dns';
import { Agent as HttpAgent, type RequestOptions, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import type { Phrase } from '../domain/fault.js';

const TIMEOUT_MS = 10_000;
const MAX_RETRY_AFTER_MS = 3_600_000;
/** An answer's body is ignored; a longer one ends the connection. */
const MAX_ANSWER_BYTES = 64 * 1024;
/**
 * Answers about the message itself, which is then a dead letter. Any other may be about a receiver that is wrong for a
 * moment: a proxy whose backend is starting answers 404, and must lose no alarm.
 */
const REFUSED_STATUSES: ReadonlySet<number> = new Set([400, 413, 415, 422]);

/** The outcome of a request. */
export type WebhookOutcome =
  | { readonly type: 'delivered' }
  /** The receiver never takes the message. */
  | { readonly type: 'refused'; readonly reason: Phrase }
  /** A later attempt may succeed. */
  | {
      readonly type: 'failed';
      readonly reason: Phrase;
      readonly isAnswered: boolean;
      /** The delay that the receiver asks for. */
      readonly afterMs?: number | undefined;
    };

/** A message as a webhook sends it. */
export interface WebhookMessage {
  /** The same for each attempt. */
  readonly id: string;
  readonly body: Buffer;
}

export interface WebhookEndpoint {
  readonly url: string;
  /** Signs the requests. */
  readonly secret: Buffer;
  readonly allowPrivate: boolean;
  readonly maxSentAtOnce: number;
}

/** Sends POSTs to one URL by the Standard Webhooks convention, over connections that it keeps open. */
export class WebhookSender {
  readonly #endpoint: WebhookEndpoint;
  readonly #url: URL;
  readonly #agent: HttpAgent;
  readonly #now: () => number;

  /** @param now the machine's clock: receivers refuse old timestamps */
  constructor(endpoint: WebhookEndpoint, now: () => number) {
    this.#endpoint = endpoint;
    this.#url = new URL(endpoint.url);
    const options = { keepAlive: true, maxSockets: endpoint.maxSentAtOnce };
    this.#agent = this.#isSecure ? new HttpsAgent(options) : new HttpAgent(options);
    this.#now = now;
  }

  /** Never rejects. */
  async send({ id, body }: WebhookMessage, signal: AbortSignal): Promise<WebhookOutcome> {
    const host = this.#url.hostname.replace(/^\[(.*)\]$/, '$1');
    if (!this.#endpoint.allowPrivate && isPrivateAddress(host)) return failed(PRIVATE_ADDRESS);
    const timestamp = String(Math.floor(this.#now() / 1000));
    const signature = createHmac('sha256', this.#endpoint.secret)
      .update(`${id}.${timestamp}.`)
      .update(body)
      .digest('base64');
    const options = {
      method: 'POST',
      agent: this.#agent,
      signal,
      timeout: TIMEOUT_MS,
      lookup: this.#endpoint.allowPrivate ? lookup : lookupPublic,
      headers: {
        'Content-Type': 'application/json',
        'Content-Length': body.length,
        'User-Agent': 'care-home-gateway',
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        'webhook-signature': `v1,${signature}`,
      },
    };
    try {
      return await this.#post(options, body);
    } catch (error) {
      return failed(reasonOf(error));
    }
  }

  /** Ends the connections. */
  close(): void {
    this.#agent.destroy();
  }

  get #isSecure(): boolean {
    return this.#url.protocol === 'https:';
  }

  #post(options: RequestOptions, body: Buffer): Promise<WebhookOutcome> {
    return new Promise((resolve, reject) => {
      const send = this.#isSecure ? requestHttps : requestHttp;
      const request = send(this.#url, options, (response) => {
        let bytes = 0;
        const { statusCode = 0, headers } = response;
        const outcome = outcomeOf(statusCode, headers['retry-after'], this.#now());
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > MAX_ANSWER_BYTES) request.destroy();
        });
        // Only the status counts, even if the body breaks off.
        response.on('close', () => resolve(outcome));
        response.on('error', () => undefined);
      });
      const timer = setTimeout(() => request.destroy(new Error(TIMED_OUT)), TIMEOUT_MS);
      request.on('close', () => clearTimeout(timer));
      request.on('error', reject);
      request.end(body);
    });
  }
}

const TIMED_OUT = 'no answer within 10 s';
const PRIVATE = 'the address is private, and allowPrivate is false';

/** Resolves to public addresses only: the checked address is the one that is connected to. */
const lookupPublic: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return callback(error, []);
    const found = addresses.filter(({ address }) => !isPrivateAddress(address));
    const [first] = found;
    if (first === undefined) return callback(new Error(PRIVATE), []);
    if (options.all === true) return callback(null, found);
    return callback(null, first.address, first.family);
  });
};

function outcomeOf(status: number, retryAfter: string | undefined, nowMs: number): WebhookOutcome {
  if (status >= 200 && status < 300) return { type: 'delivered' };
  const reason = answered(status);
  if (REFUSED_STATUSES.has(status)) return { type: 'refused', reason };
  return { type: 'failed', reason, isAnswered: true, afterMs: retryAfterMs(retryAfter, nowMs) };
}

/** Seconds, or an HTTP date (RFC 9110, 10.2.3); undefined for anything else. */
function retryAfterMs(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : httpDateMs(text) - nowMs;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), MAX_RETRY_AFTER_MS);
}

const TIME = '\\d\\d:\\d\\d:\\d\\d';
/** The three forms of a date (RFC 9110, 5.6.7); `Date.parse` alone takes almost anything. */
const IMF_FIXDATE = new RegExp(`^[A-Z][a-z]{2}, \\d\\d [A-Z][a-z]{2} \\d{4} ${TIME} GMT$`);
const RFC_850 = new RegExp(`^[A-Z][a-z]{5,8}, \\d\\d-[A-Z][a-z]{2}-\\d\\d ${TIME} GMT$`);
const ASCTIME = new RegExp(`^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \\d]\\d ${TIME} \\d{4}$`);

function httpDateMs(text: string): number {
  if (ASCTIME.test(text)) return Date.parse(`${text} GMT`);
  return IMF_FIXDATE.test(text) || RFC_850.test(text) ? Date.parse(text) : Number.NaN;
}

function failed(reason: Phrase): WebhookOutcome {
  return { type: 'failed', reason, isAnswered: false };
}

const PRIVATE_ADDRESS = {
  en: PRIVATE,
  de: 'die Adresse ist privat, und allowPrivate ist false',
};

/** The failure in words; never the URL, which may hold a token. */
function reasonOf(error: unknown): Phrase {
  if (!(error instanceof Error)) return unreached(undefined);
  if (error.message === TIMED_OUT) return { en: TIMED_OUT, de: 'keine Antwort innerhalb von 10 s' };
  if (error.message === PRIVATE) return PRIVATE_ADDRESS;
  return unreached('code' in error && typeof error.code === 'string' ? error.code : undefined);
}

function unreached(code: string | undefined): Phrase {
  const detail = code === undefined ? '' : ` (${code})`;
  return {
    en: `the receiver cannot be reached${detail}`,
    de: `der Empfänger ist nicht erreichbar${detail}`,
  };
}

function answered(status: number): Phrase {
  return { en: `the receiver answers ${status}`, de: `der Empfänger antwortet mit ${status}` };
}

/** Loopback, link-local and private addresses, and others that no host on the internet has (RFC 6890). */
const notPublic = new BlockList();
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const) {
  notPublic.addSubnet(network, bits, 'ipv4');
}
for (const [network, bits] of [
  ['::', 127],
  ['64:ff9b::', 96],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const) {
  notPublic.addSubnet(network, bits, 'ipv6');
}

/** Whether a webhook needs `allowPrivate` for this IP address. */
export function isPrivateAddress(address: string): boolean {
  const version = isIP(address);
  // The list also checks IPv4 addresses inside IPv6 addresses.
  return version !== 0 && notPublic.check(address, version === 4 ? 'ipv4' : 'ipv6');
}
