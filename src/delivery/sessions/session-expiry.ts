import type { Logger } from 'pino';
import type { KeptSession } from './session-saving.js';

const LOOK_INTERVAL_MS = 5_000;

export interface SessionExpiryOptions {
  readonly sessions: () => Iterable<KeptSession>;
  /** Ends a session for good. */
  readonly discard: (key: string) => Promise<void>;
  /** How long any session may be away. */
  readonly forgetAfterMs: number;
  readonly log: Logger;
  /** The steady clock. */
  readonly now: () => number;
}

/** Forgets sessions that were away too long, with their backlogs (docs/reference/contract.md, 5). */
export class SessionExpiry {
  readonly #options: SessionExpiryOptions;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SessionExpiryOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => this.#forgetUnused(), LOOK_INTERVAL_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Whether the session has been away longer than it may. */
  isOver({ owner, consumer, seenAtMs, expirySeconds, openCount }: KeptSession): boolean {
    const { now, forgetAfterMs } = this.#options;
    // A clean session without a consumer ends with its connection.
    const isInUse = openCount > 0 || consumer?.isConnected !== false;
    if (owner.isKept === true || isInUse) return false;
    const afterMs = expirySeconds === undefined ? forgetAfterMs : expirySeconds * 1_000;
    return seenAtMs < now() - afterMs;
  }

  /** The time a client asks for, limited to what any session may be away. */
  limited(expirySeconds: number | undefined): number | undefined {
    const maxSeconds = Math.floor(this.#options.forgetAfterMs / 1_000);
    return expirySeconds === undefined ? undefined : Math.min(expirySeconds, maxSeconds);
  }

  #forgetUnused(): void {
    const { sessions, discard, log } = this.#options;
    for (const session of sessions()) {
      if (!this.isOver(session)) continue;
      const { key, clientId, owner, expirySeconds } = session;
      const principal = owner.key;
      if (expirySeconds === undefined) {
        log.warn({ session: key, principal, clientId }, 'session forgotten: away for too long');
      } else {
        log.info(
          { session: key, principal, clientId, expirySeconds },
          'session ended: away for as long as it asked for',
        );
      }
      discard(key).catch((error: unknown) => {
        log.warn({ session: key, err: error }, 'failed to delete a forgotten session');
      });
    }
  }
}
