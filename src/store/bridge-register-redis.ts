import type { Redis } from 'ioredis';
import type { AuditEntry } from '../site/audit-trail.js';
import type { BridgeFingerprints, BridgeRegisterStore } from '../site/bridge-register.js';
import type { AuditRecords } from './audit/records.js';
import { makeChange, type Write } from './change.js';
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
    const writes: Write[] = [['DEL', this.#keys.bridges]];
    if (bridges.size > 0) writes.push(['HSET', this.#keys.bridges, ...[...bridges].flat()]);
    const records = changes.map((entry) => this.#records.of(entry));
    await makeChange(this.#redis, this.#keys, { writes, records });
  }
}
