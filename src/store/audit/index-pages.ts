import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { AuditPosition, AuditQuery, AuditRecord } from '../../site/audit-trail.js';
import { answering } from '../failures.js';
import type { Keys } from '../keys.js';
import { Script } from '../scripts.js';
import { formatAuditNumber, readAuditRecord } from './records.js';

const number = z.coerce.number();
const auditPage = new Script(
  'audit-page',
  z.tuple([number, z.array(z.string()), z.union([z.tuple([number, number]), z.tuple([])])]),
);

/** Redis serves nobody else while a script runs: some milliseconds for this many. */
const MAX_SEEN_PER_CALL = 500;

export interface IndexStretch {
  readonly upToSequence: number;
  readonly records: readonly AuditRecord[];
  /** The last record looked at, undefined at the end. */
  readonly position: AuditPosition | undefined;
}

/** Reads the part of a page that is in Redis. */
export class AuditIndexPages {
  readonly #redis: Redis;
  readonly #keys: Keys;

  constructor(redis: Redis, keys: Keys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  /**
   * Reads a page in one round trip, which looks at some hundreds of records.
   *
   * @throws GatewayError `store-unavailable`
   */
  async read(query: AuditQuery): Promise<IndexStretch> {
    const { position } = query;
    const [upToSequence, rows, [atMs, sequence]] = await answering(() =>
      auditPage.run(
        this.#redis,
        [this.#keys.auditSequence, ...query.actions.map((action) => this.#keys.audit(action))],
        [
          query.order,
          query.afterMs ?? '',
          query.beforeMs ?? '',
          query.limit,
          MAX_SEEN_PER_CALL,
          query.upToSequence ?? '',
          position?.atMs ?? '',
          position === undefined ? '' : formatAuditNumber(position.sequence),
          query.locationId ?? '',
          query.actorId ?? '',
          query.resourceId ?? '',
        ],
      ),
    );
    const isEnd = atMs === undefined || sequence === undefined;
    return {
      upToSequence,
      records: readRows(rows),
      position: isEnd ? undefined : { atMs, sequence },
    };
  }
}

/** Time and member of each record, one after the other. */
function readRows(rows: readonly string[]): AuditRecord[] {
  const records: AuditRecord[] = [];
  for (let at = 0; at + 1 < rows.length; at += 2) {
    records.push(readAuditRecord(Number(rows[at]), rows[at + 1] ?? ''));
  }
  return records;
}
