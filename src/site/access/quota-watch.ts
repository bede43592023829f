import type { Logger } from 'pino';
import { fault, firstOf } from '../../domain/fault.js';
import { holderSubject } from '../health/fault-subjects.js';
import type { Health } from '../health/health.js';
import type { SiteModel } from '../site-model.js';

/** The quotas, each with the fault for asking for more. */
const QUOTAS = {
  newcomers: 'tooManyNewcomers',
  connections: 'tooManyConnections',
  'all-connections': 'gatewayFull',
  'persistent-sessions': 'tooManySessions',
  subscriptions: 'tooManySubscriptions',
  'unread-bytes': 'tooManyUnreadBytes',
  retained: 'tooManyRetained',
  footage: 'tooManyRecordings',
  'http-connections': 'tooManyHttpConnections',
  'all-http-connections': 'httpFull',
  'websocket-frames': 'tooManyWebSocketFrames',
  'failed-logins': 'tooManyFailedLogins',
} as const;

export type Quota = keyof typeof QUOTAS;

export const QUOTA_CHECK_MS = 5_000;
const LOG_EVERY_MS = 60_000;
/** How long a fault stays after the last excess. */
const KEPT_MS = 60_000;
const MAX_NAMED = 3;
const MAX_HOLDERS = 10_000;

interface Excess {
  /** When each holder last exceeded the quota. */
  readonly holders: Map<string, number>;
  total: number;
  unlogged: number;
  loggedAtMs: number;
}

export interface QuotaWatchOptions {
  readonly health: Health;
  /** Has the names of holders. */
  readonly model: SiteModel;
  readonly log: Logger;
  /** A clock that does not jump. */
  readonly now: () => number;
}

/** Names holders that have used up a quota and ask for more: by a fault, a count, a log line a minute. */
export class QuotaWatch {
  readonly #options: QuotaWatchOptions;
  readonly #excesses = new Map<Quota, Excess>();

  constructor(options: QuotaWatchOptions) {
    this.#options = options;
  }

  /**
   * Notes that a quota was exceeded.
   *
   * @param holder a `principalKey`, `location:<id>` or `address:<address>`
   */
  exceeded(quota: Quota, holder: string): void {
    const fresh = { holders: new Map(), total: 0, unlogged: 0, loggedAtMs: -LOG_EVERY_MS };
    const excess = this.#excesses.get(quota) ?? fresh;
    this.#excesses.set(quota, excess);
    const isNew = !excess.holders.has(holder);
    if (!isNew || excess.holders.size < MAX_HOLDERS)
      excess.holders.set(holder, this.#options.now());
    excess.total++;
    excess.unlogged++;
    // Each report sends `gateway/status` to everybody: if a thousand addresses come, the next check counts them.
    if (isNew && excess.holders.size <= MAX_NAMED + 1) this.#report(quota, excess);
    this.#tell(quota, excess);
  }

  /** How often each quota was exceeded since the start. */
  counts(): readonly (readonly [Quota, number])[] {
    return [...this.#excesses].map(([quota, { total }]) => [quota, total]);
  }

  /** Reports the holders that have recently exceeded a quota; call it every `QUOTA_CHECK_MS`. */
  check(): void {
    const oldestMs = this.#options.now() - KEPT_MS;
    for (const [quota, excess] of this.#excesses) {
      for (const [holder, atMs] of excess.holders) {
        if (atMs < oldestMs) excess.holders.delete(holder);
      }
      this.#report(quota, excess);
      this.#tell(quota, excess);
    }
  }

  #report(quota: Quota, { holders }: Excess): void {
    const { health, model } = this.#options;
    const faults = firstOf([...holders.keys()], (holder) => {
      return { ...fault(QUOTAS[quota]), subject: holderSubject(model, holder) };
    });
    health.reportAll(`quota/${quota}`, faults);
  }

  #tell(quota: Quota, excess: Excess): void {
    const nowMs = this.#options.now();
    if (excess.unlogged === 0 || nowMs - excess.loggedAtMs < LOG_EVERY_MS) return;
    const holders = [...excess.holders.keys()].slice(0, MAX_NAMED);
    this.#options.log.warn({ quota, holders, count: excess.unlogged }, 'quota exceeded');
    excess.unlogged = 0;
    excess.loggedAtMs = nowMs;
  }
}
