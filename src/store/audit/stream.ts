import type { Redis } from 'ioredis';
import type { Keys } from '../keys.js';
import { readStream } from '../streams.js';
import type { StoredRecord } from './records.js';

/** Redis serves nobody else during a command: a megabyte or two with the longest records. */
const RECORDS_PER_CALL = 200;

/** Reads the records in the store (write-change.lua), a part at a time, in the order of their numbers. */
export async function* streamedRecords(redis: Redis, keys: Keys): AsyncGenerator<StoredRecord[]> {
  for (let from = 0; ; ) {
    const rows = await readStream(redis, keys.auditLog, `${from}-0`, '+', RECORDS_PER_CALL);
    yield rows.map(({ sequence, fields: [, atMs, , text] }) => {
      return { sequence, atMs: Number(atMs), text: text?.toString() ?? '' };
    });
    const last = rows.at(-1);
    if (last === undefined || rows.length < RECORDS_PER_CALL) return;
    from = last.sequence + 1;
  }
}
