import type { Redis } from 'ioredis';
import type { RecordChange } from '../domain/site.js';
import type { AuditEntry } from '../site/audit-trail.js';
import type { SiteState } from '../site/site-findings.js';
import type { SiteStore } from '../site/site-store.js';
import type { AuditRecords } from './audit/records.js';
import { makeChange, type Write } from './change.js';
import { answering } from './failures.js';
import type { Keys } from './keys.js';
import type { SiteAhead } from './site-ahead.js';
import { SiteLoader } from './site-loader.js';
import { recordFields } from './site-records.js';

/** The site in Redis: a hash for each record, and a set of the ids of each kind. */
export class SiteStoreRedis implements SiteStore {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #records: AuditRecords;
  readonly #loader: SiteLoader;
  readonly #ahead: SiteAhead | undefined;

  /** @param ahead the site as it was read before the start */
  constructor(redis: Redis, keys: Keys, records: AuditRecords, ahead?: SiteAhead) {
    this.#redis = redis;
    this.#keys = keys;
    this.#records = records;
    this.#loader = new SiteLoader(redis, keys);
    this.#ahead = ahead;
  }

  async load(): Promise<SiteState> {
    const ahead = await answering(async () => this.#ahead?.take(this.#redis));
    return ahead ?? this.#loader.load();
  }

  revision(): Promise<number> {
    return this.#loader.revision();
  }

  change(changes: readonly RecordChange[], entry: AuditEntry, revision: number): Promise<boolean> {
    const writes = changes.flatMap((change) => this.#writesOf(change));
    const records = [this.#records.of(entry)];
    return makeChange(this.#redis, this.#keys, { writes, records, revision });
  }

  #writesOf({ kind, before, after }: RecordChange): Write[] {
    const [keys, id] = [this.#keys, (after ?? before)?.id ?? ''];
    const [key, set] = [keys.record(kind, id), keys.idsOf(kind)];
    if (after === undefined) {
      const removal: Write[] = [
        ['DEL', key],
        ['SREM', set, id],
      ];
      if (kind === 'location') removal.push(['DEL', keys.rejected(id)]);
      if (kind === 'device') removal.push(['HDEL', keys.lastSeen, id], ['DEL', keys.receipts(id)]);
      return removal;
    }
    const fields = recordFields(after);
    const former = before === undefined ? [] : [...recordFields(before).keys()];
    const removed = former.filter((name) => !fields.has(name));
    return [
      // A new record may take the place of an unreadable one.
      ...(before === undefined ? [['DEL', key] as const] : []),
      ...(removed.length > 0 ? [['HDEL', key, ...removed] as const] : []),
      ['HSET', key, ...[...fields].flat()],
      ['SADD', set, id],
    ];
  }
}
