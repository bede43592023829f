import { z } from 'zod';
import type { RedisPair } from '../../../test/former/servers/redis-pair.js';
import type { RedisProgram } from '../../../test/former/servers/redis-program.js';

const ANSWER_WITHIN_MS = 500;

const fieldsSchema = z.array(z.string());

/** What the store of a pair lacks to survive another fault; empty if nothing. */
export async function missingOf(store: RedisPair): Promise<string> {
  const primary = await store.primary();
  const replica = store.servers.find((each) => each !== primary);
  if (replica === undefined) return 'a replica';
  const status = await answered(replica.info('replication', 'master_link_status'));
  if (status !== 'up') return `the link of the replica, which is ${status}`;
  const confirmed = await answered(primary.redis.wait(1, ANSWER_WITHIN_MS));
  if (confirmed !== 1) return 'a confirmation by the replica';
  for (const sentinel of store.sentinelPrograms) {
    const seen = await seenBy(sentinel, store.name);
    if (seen !== 'master 1 2') return `a Sentinel's full sight, which is ${seen}`;
  }
  return '';
}

/** The flags of the primary, and the number of replicas and other Sentinels. */
async function seenBy(sentinel: RedisProgram, name: string): Promise<string> {
  const answer = await answered(sentinel.redis.call('sentinel', 'master', name));
  const fields = fieldsSchema.safeParse(answer);
  if (!fields.success) return 'nothing';
  const field = (key: string) => fields.data[fields.data.indexOf(key) + 1];
  return `${field('flags')} ${field('num-slaves')} ${field('num-other-sentinels')}`;
}

/** The answer if it comes in time, otherwise undefined: processes may be frozen. */
async function answered<T>(answer: Promise<T>): Promise<T | undefined> {
  const late = new Promise<undefined>((resolve) => {
    setTimeout(() => resolve(undefined), 2 * ANSWER_WITHIN_MS);
  });
  return Promise.race([answer.catch(() => undefined), late]);
}
