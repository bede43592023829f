import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { SiteAhead } from '../../src/store/site-ahead.js';
import { guardWrites } from '../../src/store/write-guard.js';
import { RedisServer } from '../harness/redis-server.js';
import { SiteWorld } from './site-world.js';

let server: RedisServer;

beforeAll(async () => {
  server = await RedisServer.start();
});

afterAll(async () => server.remove());

/** A site, and a reader of it that stands by. */
async function standingBy(): Promise<{ world: SiteWorld; ahead: SiteAhead }> {
  const world = await SiteWorld.create(server);
  const reader = new Redis({ path: server.socketPath });
  onTestFinished(() => reader.disconnect());
  guardWrites(reader, { fence: { key: world.keys.lease, token: 'standing by' } });
  const ahead = new SiteAhead(reader, world.keys);
  await ahead.refresh();
  return { world, ahead };
}

test('has the site as it was read, once', async () => {
  const { world, ahead } = await standingBy();

  expect(await ahead.take(world.redis)).toEqual(await world.store.load());
  expect(await ahead.take(world.redis)).toBeUndefined();
});

test('has nothing when the site was changed since, until it is read again', async () => {
  const { world, ahead } = await standingBy();
  const { location } = world;
  const after = { ...location, name: 'Haus am Wald' };
  await world.change({ kind: 'location', before: location, after });
  expect(await ahead.take(world.redis)).toBeUndefined();

  await ahead.refresh();

  const taken = await ahead.take(world.redis);
  expect(taken?.records.locations.map(({ name }) => name)).toEqual(['Haus am Wald']);
});

test('has nothing when the store is another one with as many changes', async () => {
  const { world, ahead } = await standingBy();
  await world.redis.set(world.keys.identity, 'another');

  expect(await ahead.take(world.redis)).toBeUndefined();
});

test('leaves an inconsistent site as it is, for the gateway that serves to repair', async () => {
  const { world, ahead } = await standingBy();
  await ahead.take(world.redis);
  await world.redis.srem(world.keys.idsOf('device'), world.device.id);
  await ahead.refresh();

  expect(await ahead.take(world.redis)).toBeUndefined();
  expect(await world.redis.scard(world.keys.idsOf('device'))).toBe(1);
});
