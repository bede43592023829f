import { principalKey } from '../domain/grants.js';
import type { AccessTokens } from './access-tokens.js';
import type { SiteEvents } from './site-events.js';

const INTERVAL_MS = 1_000;

/** Ends what a token has opened when its time has come; HTTP looks at the time by itself. */
export class TokenExpiry {
  readonly #accessTokens: AccessTokens;
  readonly #events: SiteEvents;
  readonly #now: () => number;
  #timer: NodeJS.Timeout | undefined;
  #checkedUntilMs: number;

  constructor(accessTokens: AccessTokens, events: SiteEvents, now: () => number) {
    this.#accessTokens = accessTokens;
    this.#events = events;
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
      this.#events.emit('principalRemoved', principalKey(principal));
    }
    this.#checkedUntilMs = nowMs;
  }
}
