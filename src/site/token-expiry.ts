import type { Logger } from 'pino';
import { principalKey } from '../domain/grants.js';
import type { AccessTokens } from './access-tokens.js';
import type { SiteEvents } from './site-events.js';

const INTERVAL_MS = 1_000;

/**
 * Closes the connections of expired tokens, and records the expiry.
 *
 * HTTP checks the time of each request itself. Sessions and their backlogs stay until they are forgotten
 * like any other: the clock may be years ahead for a while, and the token is valid again once that is set
 * right (CONTRACT 4.7).
 */
export class TokenExpiry {
  readonly #accessTokens: AccessTokens;
  readonly #events: SiteEvents;
  readonly #log: Logger;
  readonly #now: () => number;
  #timer: NodeJS.Timeout | undefined;
  #checkedUntilMs: number;
  #isNoting = false;

  constructor(accessTokens: AccessTokens, events: SiteEvents, log: Logger, now: () => number) {
    this.#accessTokens = accessTokens;
    this.#events = events;
    this.#log = log;
    this.#now = now;
    this.#checkedUntilMs = now();
  }

  start(): void {
    this.#timer = setInterval(() => this.#check(), INTERVAL_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    const nowMs = this.#now();
    for (const principal of this.#accessTokens.expiredBetween(this.#checkedUntilMs, nowMs)) {
      this.#events.emit('credentialEnded', principalKey(principal));
    }
    this.#checkedUntilMs = nowMs;
    if (this.#isNoting) return;
    this.#isNoting = true;
    this.#noteExpiries()
      .catch((error: unknown) => {
        this.#log.warn({ err: error }, 'failed to record an expired token, retrying');
      })
      .finally(() => {
        this.#isNoting = false;
      });
  }

  /** Records tokens that expired while the gateway or the store was away, too. */
  async #noteExpiries(): Promise<void> {
    for (const record of this.#accessTokens.unnotedExpiries()) {
      await this.#accessTokens.noteExpiry(record);
    }
  }
}
