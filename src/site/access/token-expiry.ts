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
  /** `SteadyClock.isSureSince` */
  readonly isSureSince: (wallMs: number) => boolean;
}

/**
 * Closes the connections of expired tokens, ends their sessions, and records the expiry.
 *
 * HTTP itself checks the expiry at each request. Sessions and their backlogs end only if the clock has not jumped
 * since the token was created, or for a day: the clock may be years ahead for a while, and the token is valid
 * again once the clock is corrected (docs/reference/contract.md, 4.7).
 */
export class TokenExpiry {
  readonly #options: TokenExpiryOptions;
  /** Expired tokens, by id, and whether their sessions have ended. */
  #expired = new Map<string, boolean>();
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
    const expired = this.#options.accessTokens.expired();
    this.#expired = new Map(expired.map((record) => [record.id, this.#end(record)]));
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

  /** Closes the token's connections, and ends its sessions once the expiry is sure. Returns whether they have ended. */
  #end({ id, grants, createdAtMs }: AccessToken): boolean {
    const { events, isSureSince } = this.#options;
    const principal = principalKey({ type: 'token', id, grants });
    const haveSessionsEnded = this.#expired.get(id);
    if (haveSessionsEnded === undefined) events.emit('credentialEnded', principal);
    if (haveSessionsEnded === true || !isSureSince(createdAtMs)) return haveSessionsEnded ?? false;
    events.emit('principalRemoved', principal);
    return true;
  }

  /** Also records tokens that expired while the gateway or the store was away. */
  async #noteExpiries(expired: readonly AccessToken[]): Promise<void> {
    for (const record of expired) {
      if (!record.isExpiryNoted) await this.#options.accessTokens.noteExpiry(record);
    }
  }
}
