import { Redis } from 'ioredis';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { newId } from '../../src/domain/notation.js';
import { type Keys, keysOf } from '../../src/store/keys.js';
import { requireLayout } from '../../src/store/layout.js';
import { Store } from '../../src/store/store.js';
import { useRedis } from '../former/servers/shared-redis.js';

const place = useRedis();
let redis: Redis;
let keys: Keys;

beforeEach(() => {
  redis = new Redis({ path: place.socketPath });
  onTestFinished(() => redis.disconnect());
  keys = keysOf(newId());
});

it('sets the layout number of a store that has none, or something else under its key', async () => {
  await requireLayout(new Store(redis), keys);
  expect(await redis.get(keys.layout)).toBe('1');
  await requireLayout(new Store(redis), keys);
  await redis.del(keys.layout);
  await redis.lpush(keys.layout, 'something else');
  await requireLayout(new Store(redis), keys);
  expect(await redis.get(keys.layout)).toBe('1');
});

it('starts without a layout number while the store is full', async () => {
  await redis.config('SET', 'maxmemory', '1');
  onTestFinished(async () => void (await redis.config('SET', 'maxmemory', '0')));
  await requireLayout(new Store(redis), keys);
  expect(await redis.exists(keys.layout)).toBe(0);
});

it.each(['0', '2', '5', 'x'])('refuses layout %s and changes nothing', async (layout) => {
  await redis.set(keys.layout, layout);
  await expect(requireLayout(new Store(redis), keys)).rejects.toMatchObject({
    code: 'start-failed',
    detail: `the store has layout ${layout}, and this program has layout 1: install the version that wrote it, or move its data away as a backup and start with an empty store`,
  });
  expect(await redis.get(keys.layout)).toBe(layout);
});
