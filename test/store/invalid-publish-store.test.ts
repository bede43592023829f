import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { ListedInvalidPublish } from '../../src/ingest/invalid-publishes.js';
import { StoreHeadroom } from '../../src/site/health/store-headroom.js';
import { InvalidPublishStoreRedis } from '../../src/store/invalid-publish-store-redis.js';
import { keysOf } from '../../src/store/keys.js';
import { Store } from '../../src/store/store.js';
import { RedisServer } from '../former/servers/redis-server.js';

const MIB = 1024 * 1024;
const MAX_PER_LOCATION = 1_000;
const AT_ONCE = 50;
const PAYLOAD = Buffer.alloc(16 * 1024, 'x');

function invalidPublish(receivedAtMs: number): ListedInvalidPublish {
  const publish = { topic: 'devices/d/alarms', payload: PAYLOAD, receivedAtMs };
  return {
    deviceId: 'd',
    groupId: null,
    invalidPublish: { ...publish, reason: 'not-json' },
  };
}

it('keeps the newest invalid publishes of a location within 4 MiB when payloads are large', async () => {
  const server = await RedisServer.start();
  const { redis } = server;
  const [keys, locationId] = [keysOf('invalid'), randomUUID()];
  await redis.hset(keys.siteRecords('location'), locationId, '{}');
  const store = new InvalidPublishStoreRedis({
    store: new Store(redis),
    management: new Store(redis),
    keys,
    maxPerLocation: MAX_PER_LOCATION,
    headroom: new StoreHeadroom(),
  });
  for (let from = 1; from <= MAX_PER_LOCATION; from += AT_ONCE) {
    const listed = Array.from({ length: AT_ONCE }, (_, index) => invalidPublish(from + index));
    await store.add(locationId, listed);
    expect(await redis.memory('USAGE', keys.rejected(locationId))).toBeLessThan(4.1 * MIB);
  }
  const kept = (await store.list(locationId)).map(({ receivedAtMs }) => receivedAtMs);
  expect(kept.length).toBeGreaterThan(90);
  expect(kept).toEqual(kept.map((_, index) => MAX_PER_LOCATION - index));
  // An unreadable entry hides no others.
  await redis.lset(keys.rejected(locationId), 1, '{"deviceId":');
  expect(await store.list(locationId)).toHaveLength(kept.length - 1);
  await server.remove();
});
