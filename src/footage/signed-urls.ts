import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Recording } from '../domain/footage.js';
import { GatewayError } from '../errors.js';
import { FOOTAGE_URL_VALID_MS, type FootageStore, type UrlTerms } from '../site/footage.js';

/** A request to one of the gateway's own signed URLs. */
export interface SignedRequest {
  readonly method: 'GET' | 'PUT';
  readonly key: string;
  /** The query as it was sent, without `?`. */
  readonly query: string;
}

type SignedMethod = SignedRequest['method'];

/** The query exactly as issued: nothing added, repeated or reordered. */
const QUERY = /^expires=([1-9]\d{0,11})&signature=([A-Za-z0-9_-]{43})$/;

/**
 * URLs of recordings in the gateway's own folder, received and served under `/footage/`.
 *
 * They are signed with an HMAC-SHA256 over method, expiry and key.
 */
export class SignedUrls implements FootageStore {
  readonly #key: Buffer;
  readonly #now: () => number;

  /** @param key URLs stay valid across a restart with the same key; another key ends them all */
  constructor(key: Buffer, now: () => number) {
    this.#key = key;
    this.#now = now;
  }

  async downloadUrl(key: string, terms: UrlTerms): Promise<string> {
    return this.#url('GET', key, terms);
  }

  async uploadUrl({ key }: Recording, terms: UrlTerms): Promise<string> {
    return this.#url('PUT', key, terms);
  }

  /** @throws GatewayError `forbidden`, always the same, whatever is wrong */
  check({ method, key, query }: SignedRequest): void {
    const [, expires = '', signature = ''] = QUERY.exec(query) ?? [];
    const given = Buffer.from(signature);
    const expected = Buffer.from(this.#sign(method, key, expires));
    const isOurs = given.length === expected.length && timingSafeEqual(given, expected);
    if (!isOurs || Number(expires) * 1000 <= this.#now()) {
      throw new GatewayError('forbidden', 'The URL is invalid or has expired.');
    }
  }

  #url(method: SignedMethod, key: string, { gatewayUrl, fromMs }: UrlTerms): string {
    const expires = String((fromMs + FOOTAGE_URL_VALID_MS) / 1000);
    const query = `expires=${expires}&signature=${this.#sign(method, key, expires)}`;
    return `${gatewayUrl}/footage/${objectPath(key)}?${query}`;
  }

  #sign(method: SignedMethod, key: string, expires: string): string {
    const bound = JSON.stringify([method, expires, key]);
    return createHmac('sha256', this.#key).update(bound).digest('base64url');
  }
}

/**
 * The object key as a URL's path, each level percent-encoded separately.
 *
 * A `+` is encoded too, because some servers and the signing library read it as a space.
 */
export function objectPath(key: string): string {
  return key.split('/').map(encodeURIComponent).join('/');
}
