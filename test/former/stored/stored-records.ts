import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { RecordKind } from '../../../src/domain/site.js';
import { keysOf } from '../../../src/store/keys.js';

const SITE = keysOf('site');

/** Changes fields of a stored record; undefined removes one. */
export async function rewriteRecord(
  redis: Redis,
  kind: RecordKind,
  id: string,
  fields: Readonly<Record<string, unknown>>,
  keys = SITE,
): Promise<void> {
  const key = keys.siteRecords(kind);
  const record = z.looseObject({}).parse(JSON.parse((await redis.hget(key, id)) ?? ''));
  await redis.hset(key, id, JSON.stringify({ ...record, ...fields }));
}
