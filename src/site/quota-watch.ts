import type { Logger } from 'pino';
import type { Health } from './health.js';

/** What a quota bounds, with what becomes of more. */
const QUOTAS = {
  newcomers: 'connections without a login, the oldest of them are closed',
  connections: 'connections, further ones are refused',
  'all-connections':
    'connections, as nearly all of the gateway are in use: further ones are refused',
  'persistent-sessions':
    'persistent sessions, further ones are refused or take the place of old ones',
  subscriptions: 'subscriptions, further ones are refused',
  retained: 'retained messages, further ones are forwarded and not retained',
  footage: 'recordings, further ones are refused',
  'failed-logins': 'failed logins, further ones are not looked at for some seconds',
} as const;

export type Quota = keyof typeof QUOTAS;

const INTERVAL_MS = 5_000;
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

/** Names who holds as much as a quota allows and asks for more: a fault, a count, a log line a minute. */
export class QuotaWatch {
  readonly #health: Health;
  readonly #log: Logger;
  readonly #now: () => number;
  readonly #excesses = new Map<Quota, Excess>();
  #timer: NodeJS.Timeout | undefined;

  /** @param now a clock that does not jump */
  constructor(health: Health, log: Logger, now: () => number) {
    this.#health = health;
    this.#log = log;
    this.#now = now;
  }

  start(): void {
    this.#timer = setInterval(() => this.#check(), INTERVAL_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
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
    if (!isNew || excess.holders.size < MAX_HOLDERS) excess.holders.set(holder, this.#now());
    excess.total++;
    excess.unlogged++;
    if (isNew) this.#report(quota, excess);
    this.#tell(quota, excess);
  }

  /** How often each quota was exceeded since the start. */
  counts(): readonly (readonly [Quota, number])[] {
    return [...this.#excesses].map(([quota, { total }]) => [quota, total]);
  }

  #check(): void {
    const oldestMs = this.#now() - KEPT_MS;
    for (const [quota, excess] of this.#excesses) {
      for (const [holder, atMs] of excess.holders) {
        if (atMs < oldestMs) excess.holders.delete(holder);
      }
      this.#report(quota, excess);
      this.#tell(quota, excess);
    }
  }

  #report(quota: Quota, { holders }: Excess): void {
    this.#health.reportElsewhere(`quota/${quota}`, sentence(quota, [...holders.keys()]));
  }

  #tell(quota: Quota, excess: Excess): void {
    const nowMs = this.#now();
    if (excess.unlogged === 0 || nowMs - excess.loggedAtMs < LOG_EVERY_MS) return;
    const holders = [...excess.holders.keys()].slice(0, MAX_NAMED);
    this.#log.warn({ quota, holders, count: excess.unlogged }, 'quota exceeded');
    excess.unlogged = 0;
    excess.loggedAtMs = nowMs;
  }
}

function sentence(quota: Quota, holders: readonly string[]): string | undefined {
  if (holders.length === 0) return undefined;
  const named = holders.slice(0, MAX_NAMED).map((holder) => holder.replace(':', ' '));
  const others = holders.length > MAX_NAMED ? ` and ${holders.length - MAX_NAMED} more` : '';
  return `too many ${QUOTAS[quota]}: ${named.join(', ')}${others}`;
}
