import type { Logger } from 'pino';
import { principalKey } from '../../domain/grants.js';
import type { AccessToken } from '../../domain/site.js';
import type { SiteEvents } from '../site-events.js';
import type { AccessTokens } from './access-tokens.js';

const INTERVAL_MS = 1_000;

export interface TokenExpiryOptions {
  readonly accessTokens: AccessTokens;
  readonly events: SiteEvents;
  readonly log: Logger;
}

/**
 * Closes the connections of expired tokens, and records the expiry.
 *
 * HTTP itself checks the expiry at each request. Sessions and their backlogs stay, and are forgotten like those of any
 * absent client: the clock may be years ahead for a while, and the token is valid again once it is corrected
 * (docs/reference/contract.md, 4.7).
 */
export class TokenExpiry {
  readonly #options: TokenExpiryOptions;
  /** The ids of expired tokens. */
  #expired: ReadonlySet<string> = new Set();
  #timer: NodeJS.Timeout | undefined;
  #isNoting = false;

  constructor(options: TokenExpiryOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => this.#check(), INTERVAL_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    const { accessTokens, events } = this.#options;
    const expired = accessTokens.expired();
    for (const { id, grants } of expired) {
      if (this.#expired.has(id)) continue;
      events.emit('credentialEnded', principalKey({ type: 'token', id, grants }));
    }
    this.#expired = new Set(expired.map(({ id }) => id));
    if (this.#isNoting) return;
    this.#isNoting = true;
    this.#noteExpiries(expired)
      .catch((error: unknown) => {
        this.#options.log.warn({ err: error }, 'failed to record an expired token, retrying');
      })
      .finally(() => {
        this.#isNoting = false;
      });
  }

  /** Also records tokens that expired while the gateway or the store was away. */
  async #noteExpiries(expired: readonly AccessToken[]): Promise<void> {
    for (const record of expired) {
      if (!record.isExpiryNoted) await this.#options.accessTokens.noteExpiry(record);
    }
  }
}
