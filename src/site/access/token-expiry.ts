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
 * HTTP checks the time of each request itself. Sessions and their backlogs end only when the clock has told the
 * time since the token was created without a jump, or for a day: it may be years ahead for a while, and the
 * token is valid again once the clock is set right (docs/reference/contract.md, 4.7).
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

  /** Closes the token's connections, and once that is sure, ends its sessions. Returns whether they have ended. */
  #end({ id, grants, createdAtMs }: AccessToken): boolean {
    const { events, isSureSince } = this.#options;
    const principal = principalKey({ type: 'token', id, grants });
    const haveSessionsEnded = this.#expired.get(id);
    if (haveSessionsEnded === undefined) events.emit('credentialEnded', principal);
    if (haveSessionsEnded === true || !isSureSince(createdAtMs)) return haveSessionsEnded ?? false;
    events.emit('principalRemoved', principal);
    return true;
  }

  /** Records tokens that expired while the gateway or the store was away, too. */
  async #noteExpiries(expired: readonly AccessToken[]): Promise<void> {
    for (const record of expired) {
      if (!record.isExpiryNoted) await this.#options.accessTokens.noteExpiry(record);
    }
  }
}
