import type { Redis } from 'ioredis';
import type { AuditEntry, AuditTrail } from '../site/audit-trail.js';
import type { AuditRecords } from './audit-records.js';
import { Change } from './change.js';

/** The audit trail in Redis: a sorted set for each action, so that none pushes another out. */
export class AuditTrailRedis implements AuditTrail {
  readonly #redis: Redis;
  readonly #records: AuditRecords;

  constructor(redis: Redis, records: AuditRecords) {
    this.#redis = redis;
    this.#records = records;
  }

  async record(entries: readonly AuditEntry[]): Promise<void> {
    const change = new Change();
    for (const entry of entries) change.record(this.#records.of(entry));
    // Nothing else is changed: there is nothing to be read again after an unknown outcome.
    await change.apply({ redis: this.#redis, onUnknownOutcome: () => undefined });
  }
}
