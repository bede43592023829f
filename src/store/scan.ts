import type { Redis } from 'ioredis';

/** Redis serves nobody else during a call: some milliseconds for this many keys. */
const KEYS_A_CALL = 5_000;

/** Finds the keys that match a pattern, a page at a time; one may be shown twice. */
export async function* scannedKeys(redis: Redis, pattern: string): AsyncGenerator<string[]> {
  let cursor = '0';
  do {
    const page = await redis.scan(cursor, 'MATCH', pattern, 'COUNT', KEYS_A_CALL);
    cursor = page[0];
    yield page[1];
  } while (cursor !== '0');
}
