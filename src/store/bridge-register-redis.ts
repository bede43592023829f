import type { Redis } from 'ioredis';
import type { AuditEntry } from '../site/audit-trail.js';
import type { BridgeFingerprints } from '../site/bridge-changes.js';
import type { BridgeRegisterStore } from '../site/bridge-register.js';
import type { AuditRecords } from './audit/records.js';
import { Change } from './change.js';
import { answering } from './failures.js';
import type { Keys } from './keys.js';

/** The register of bridges in Redis: one hash. */
export class BridgeRegisterRedis implements BridgeRegisterStore {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #records: AuditRecords;

  constructor(redis: Redis, keys: Keys, records: AuditRecords) {
    this.#redis = redis;
    this.#keys = keys;
    this.#records = records;
  }

  async load(): Promise<BridgeFingerprints> {
    const bridges = await answering(() => this.#redis.hgetall(this.#keys.bridges));
    return new Map(Object.entries(bridges));
  }

  async replace(bridges: BridgeFingerprints, changes: readonly AuditEntry[]): Promise<void> {
    const change = new Change().write('DEL', this.#keys.bridges);
    if (bridges.size > 0) change.write('HSET', this.#keys.bridges, ...[...bridges].flat());
    for (const entry of changes) change.record(this.#records.of(entry));
    // The register reads the hash again before its next write.
    await change.apply({ redis: this.#redis, onUnknownOutcome: () => undefined });
  }
}
