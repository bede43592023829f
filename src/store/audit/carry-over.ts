import type { Redis } from 'ioredis';
import { AUDIT_ACTIONS } from '../../site/audit-trail.js';
import type { Keys } from '../keys.js';
import { execute } from '../transaction.js';
import { formerMember } from './former-segment.js';
import type { StoredRecord } from './records.js';

/** Redis serves nobody else during a command: a megabyte or two with the longest records. */
const RECORDS_PER_CALL = 200;

/**
 * Moves the records of layout 4, a sorted set of some 8 MiB at most for each action, to the stream.
 *
 * An interrupted run is continued by the next: records that are in the stream are not added again, and the
 * sets go once all are in it.
 *
 * @returns how many
 */
export async function carryAuditRecordsOver(redis: Redis, keys: Keys): Promise<number> {
  const sets = AUDIT_ACTIONS.map((action) => keys.formerAudit(action));
  const all: StoredRecord[] = [];
  for (const set of sets) {
    const count = await redis.zcard(set);
    for (let rank = 0; rank < count; rank += RECORDS_PER_CALL) {
      const rows = await redis.zrange(set, rank, rank + RECORDS_PER_CALL - 1, 'WITHSCORES');
      for (let at = 0; at + 1 < rows.length; at += 2) {
        all.push(formerMember(rows[at + 1] ?? '', rows[at] ?? ''));
      }
    }
  }
  const [newest] = await redis.xrevrange(keys.auditLog, '+', '-', 'COUNT', 1);
  const last = Number.parseInt(newest?.[0] ?? '0', 10);
  // A stream takes its entries in the order of their ids only.
  const missing = all
    .filter(({ sequence }) => sequence > last)
    .sort((one, other) => one.sequence - other.sequence);
  for (let at = 0; at < missing.length; at += RECORDS_PER_CALL) {
    const pipeline = redis.pipeline();
    for (const { sequence, atMs, text } of missing.slice(at, at + RECORDS_PER_CALL)) {
      pipeline.xadd(keys.auditLog, `${sequence}-0`, 'at', atMs, 'record', text);
    }
    await execute(pipeline);
  }
  await redis.unlink(...sets);
  return all.length;
}
