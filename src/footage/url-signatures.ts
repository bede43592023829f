import { createHmac, timingSafeEqual } from 'node:crypto';
import { GatewayError } from '../errors.js';
import type { SignedRequest } from '../site/footage-store.js';

type SignedMethod = SignedRequest['method'];

/** The query exactly as issued: nothing added, repeated or reordered. */
const QUERY = /^expires=([1-9]\d{0,11})&signature=([A-Za-z0-9_-]{43})$/;

/** Signs the gateway's own URLs: an HMAC-SHA256 over method, expiry and key. */
export class UrlSignatures {
  readonly #key: Buffer;
  readonly #now: () => number;

  /** @param key URLs stay valid over a restart with the same key; another key ends them all */
  constructor(key: Buffer, now: () => number) {
    this.#key = key;
    this.#now = now;
  }

  /** The query of a URL that expires at this time, in milliseconds since 1970. */
  queryFor(method: SignedMethod, key: string, expiresAtMs: number): string {
    const expires = String(expiresAtMs / 1000);
    return `expires=${expires}&signature=${this.#sign(method, key, expires)}`;
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

  #sign(method: SignedMethod, key: string, expires: string): string {
    const bound = JSON.stringify([method, expires, key]);
    return createHmac('sha256', this.#key).update(bound).digest('base64url');
  }
}
