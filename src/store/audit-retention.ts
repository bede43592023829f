import type { Redis } from 'ioredis';
import type { Log } from '../log.js';
import { AUDIT_ACTIONS } from '../site/audit-trail.js';
import type { Keys } from './keys.js';

const INTERVAL_MS = 3_600_000;
/** A command holds everybody up as long as it runs. */
const RECORDS_PER_CALL = 1_000;

export interface AuditRetentionOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly maxAgeMs: number;
  readonly log: Log;
  readonly now: () => number;
}

/** Removes records from the audit trail when their time is over. */
export class AuditRetention {
  readonly #options: AuditRetentionOptions;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: AuditRetentionOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => this.#runInBackground(), INTERVAL_MS);
    this.#runInBackground();
  }

  stop(): void {
    this.#stopped = true;
    clearInterval(this.#timer);
  }

  /** Removes every record that is too old; returns how many there were. */
  async run(): Promise<number> {
    const { keys, maxAgeMs, now } = this.#options;
    const before = now() - maxAgeMs;
    let total = 0;
    for (const action of AUDIT_ACTIONS) total += await this.#remove(keys.audit(action), before);
    return total;
  }

  /** By name, not by rank: meanwhile others may fall out of the set. */
  async #remove(index: string, before: number): Promise<number> {
    const { redis } = this.#options;
    let total = 0;
    while (!this.#stopped) {
      const limit = ['LIMIT', 0, RECORDS_PER_CALL] as const;
      const old = await redis.zrangebyscore(index, '-inf', `(${before}`, ...limit);
      if (old.length > 0) total += await redis.zrem(index, ...old);
      if (old.length < RECORDS_PER_CALL) break;
    }
    return total;
  }

  #runInBackground(): void {
    const { log } = this.#options;
    this.run()
      .then((removed) => {
        if (removed > 0) log.info({ removed }, 'audit records removed, their time is over');
      })
      .catch((error: unknown) => {
        log.warn({ err: error }, 'old audit records not removed, trying again');
      });
  }
}
