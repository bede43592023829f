/**
 * Who holds, opens or sends as much as a quota allows, and asks for more: a fault that names them until a minute after
 * the last attempt, a count for `/metrics`, and a line in the log.
 */
import type { Logger } from 'pino';
import { type FaultSubject, fault } from '../../domain/fault.js';
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

export const QUOTA_CHECK_MS = 1_000;
const KEPT_MS = 60_000;
/** Of a quota; further ones are counted only. */
const MAX_HOLDERS = 1_000;

interface Excess {
  /** When each holder last exceeded the quota. */
  readonly holders: Map<string, number>;
  count: number;
}

export interface QuotaWatchOptions {
  readonly health: Health;
  /** Has the names of holders. */
  readonly model: SiteModel;
  readonly log: Logger;
  /** A clock that does not jump. */
  readonly now: () => number;
}

export class QuotaWatch {
  readonly #options: QuotaWatchOptions;
  readonly #excesses = new Map<Quota, Excess>();

  constructor(options: QuotaWatchOptions) {
    this.#options = options;
  }

  /**
   * Notes that a quota was exceeded.
   *
   * @param holder a `principalKey` or `address:<address>`
   */
  exceeded(quota: Quota, holder: string): void {
    const excess = this.#excesses.get(quota) ?? { holders: new Map<string, number>(), count: 0 };
    this.#excesses.set(quota, excess);
    excess.count++;
    const { holders } = excess;
    if (holders.has(holder) || holders.size < MAX_HOLDERS) holders.set(holder, this.#options.now());
    this.#options.log.warn({ quota, holder }, 'quota exceeded');
  }

  /** How often each quota was exceeded since the start. */
  counts(): readonly (readonly [Quota, number])[] {
    return [...this.#excesses].map(([quota, { count }]) => [quota, count]);
  }

  /** Reports the holders that have recently exceeded a quota; call it every `QUOTA_CHECK_MS`. */
  check(): void {
    const { health, model, now } = this.#options;
    const oldestMs = now() - KEPT_MS;
    for (const [quota, { holders }] of this.#excesses) {
      for (const [holder, atMs] of holders) if (atMs < oldestMs) holders.delete(holder);
      const faults = Array.from(holders.keys(), (holder) => {
        return { ...fault(QUOTAS[quota]), subject: holderSubject(model, holder) };
      });
      health.replace(`quota/${quota}`, faults);
    }
  }
}

/**
 * The holder or sender of too much, as the subject of a fault.
 *
 * @param holder a `principalKey` or `address:<address>`; anything else is an address
 */
export function holderSubject(model: SiteModel, holder: string): FaultSubject {
  const [, kind, id = holder] = /^(device|token|address):(.*)$/.exec(holder) ?? [];
  if (kind === 'device') return { type: 'device', id, name: model.device(id)?.name ?? id };
  if (kind === 'token')
    return { type: 'access-token', id, name: model.accessToken(id)?.name ?? id };
  return { type: 'address', id, name: id };
}
