/** The site in Redis: one hash per kind, id → record. */
import { parseJson } from '../../domain/json.js';
import {
  RECORD_SCHEMAS,
  type RecordChange,
  type RecordKind,
  type RecordOfKind,
} from '../../domain/site.js';
import { GatewayError } from '../../errors.js';
import type { AuditEntry } from '../../site/audit-trail.js';
import type { SiteState } from '../../site/site-model.js';
import type { AuditStore } from '../audit.js';
import type { Keys } from '../keys.js';
import { answering, type Store, type StoreCommand, unlessOfAnotherType } from '../store.js';

export class SiteStoreRedis {
  readonly #store: Store;
  readonly #keys: Keys;
  readonly #audit: AuditStore;

  constructor(store: Store, keys: Keys, audit: AuditStore) {
    this.#store = store;
    this.#keys = keys;
    this.#audit = audit;
  }

  /**
   * Loads the site without its unreadable records.
   *
   * Reads the revision first: if another gateway changes the site meanwhile, the next change shows it.
   *
   * @throws GatewayError `store-unavailable`, also when all records of a kind were overwritten
   */
  async load(): Promise<SiteState> {
    const revision = await this.revision();
    const unreadable = new Set<string>();
    const load = <K extends RecordKind>(kind: K) => this.#load(kind, unreadable);
    const records = {
      location: await load('location'),
      group: await load('group'),
      room: await load('room'),
      device: await load('device'),
      'access-token': await load('access-token'),
    };
    return { records, unreadable, revision };
  }

  /**
   * How many changes the site has had, by any gateway.
   *
   * @throws GatewayError `store-unavailable`
   */
  revision(): Promise<number> {
    return answering(async () =>
      Number(await this.#store.read((redis) => redis.get(this.#keys.siteRevision))),
    );
  }

  /**
   * Writes the records and the audit entry of one change, in one atomic call.
   *
   * @param revision the number of changes that the site has had, as far as the caller knows
   * @returns false, with nothing written, when the site has had other changes
   * @throws GatewayError `store-unavailable`, and then it is unknown whether the change was made
   */
  change(changes: readonly RecordChange[], entry: AuditEntry, revision: number): Promise<boolean> {
    const { siteRevision } = this.#keys;
    const writes = changes.flatMap((change) => this.#writesOf(change));
    return this.#audit.commit({
      // A site that was never changed has no counter.
      conditions: [[revision === 0 ? '' : String(revision), 'GET', siteRevision]],
      records: [this.#audit.recordOf(entry)],
      commands: [['INCR', siteRevision], ...writes],
    });
  }

  async #load<K extends RecordKind>(kind: K, unreadable: Set<string>): Promise<RecordOfKind[K][]> {
    const key = this.#keys.siteRecords(kind);
    const stored = await answering(() =>
      unlessOfAnotherType(this.#store.read((redis) => redis.hgetall(key))),
    );
    if (stored === undefined) {
      throw new GatewayError(
        'store-unavailable',
        `The key ${key} of the store is not a hash of records: restore a backup, or delete the key.`,
      );
    }
    const records: RecordOfKind[K][] = [];
    const holder = kind === 'access-token' ? 'token' : kind;
    for (const [id, text] of Object.entries(stored)) {
      const record = RECORD_SCHEMAS[kind].safeParse(parseJson(text)).data;
      if (record?.id === id) records.push(record);
      else unreadable.add(`${holder}:${id}`);
    }
    return records;
  }

  #writesOf({ kind, before, after }: RecordChange): StoreCommand[] {
    const keys = this.#keys;
    const records = keys.siteRecords(kind);
    if (after !== undefined) return [['HSET', records, after.id, JSON.stringify(after)]];
    const id = before?.id ?? '';
    const removal: StoreCommand[] = [['HDEL', records, id]];
    if (kind === 'location') removal.push(['DEL', keys.rejected(id)], ['DEL', keys.drills(id)]);
    if (kind === 'access-token') removal.push(['HDEL', keys.tokenUse, id]);
    if (kind === 'device') {
      removal.push(['HDEL', keys.lastSeen, id], ['HDEL', keys.supervision, id]);
    }
    return removal;
  }
}
