import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { SiteState } from '../../src/site/site-findings.js';
import { SiteAhead } from '../../src/store/site-ahead.js';
import { guardWrites } from '../../src/store/write-guard.js';
import { RedisServer } from '../harness/redis-server.js';
import { until } from '../harness/until.js';
import { temporaryDirectory } from './embedded-support.js';
import { startReplica, startServer } from './replica-world.js';
import { SiteWorld } from './site-world.js';

let server: RedisServer;

beforeAll(async () => {
  server = await RedisServer.start();
});

afterAll(async () => server.remove());

interface StandingBy {
  readonly world: SiteWorld;
  readonly ahead: SiteAhead;
}

/** A site, and a reader of it that stands by and has read nothing yet. */
async function begun(at: { readonly socketPath: string } = server): Promise<StandingBy> {
  const world = await SiteWorld.create(at);
  const reader = new Redis({ path: at.socketPath });
  onTestFinished(() => reader.disconnect());
  guardWrites(reader, { fence: { key: world.keys.lease, token: 'standing by' } });
  return { world, ahead: new SiteAhead(reader, world.keys) };
}

/** A site, and a reader that has read it. */
async function standingBy(): Promise<StandingBy> {
  const begin = await begun();
  await begin.ahead.refresh();
  return begin;
}

function rename({ world }: StandingBy, name: string): Promise<void> {
  const { location } = world;
  return world.change({ kind: 'location', before: location, after: { ...location, name } });
}

async function namesIn(state: Promise<SiteState | undefined>): Promise<string[] | undefined> {
  return (await state)?.records.locations.map(({ name }) => name);
}

test('has the site as it was read, once', async () => {
  const { world, ahead } = await standingBy();

  expect(await ahead.take(world.redis)).toEqual(await world.store.load());
  expect(await ahead.take(world.redis)).toBeUndefined();
});

test('has nothing when the site was changed since, until it is read again', async () => {
  const begin = await standingBy();
  const { world, ahead } = begin;
  await rename(begin, 'Haus am Wald');
  expect(await ahead.take(world.redis)).toBeUndefined();

  await ahead.refresh();

  expect(await namesIn(ahead.take(world.redis))).toEqual(['Haus am Wald']);
});

test('has the site as it is when a failover lost the change that was read, and as many were made since', async () => {
  const socketPath = join(temporaryDirectory(), 'redis.sock');
  const primary = await startServer('--unixsocket', socketPath);
  const replica = await startReplica(primary);
  const begin = await begun({ socketPath });
  const { world, ahead } = begin;
  const { revision } = await world.store.load();
  expect(await world.redis.wait(1, 10_000)).toBe(1);
  await replica.redis.replicaof('NO', 'ONE');
  await rename(begin, 'only on the former primary');
  await ahead.refresh();

  // The former primary comes back as a replica, and has the site that the new one has.
  await primary.redis.replicaof('127.0.0.1', replica.port);
  await until(async () => (await world.store.load()).revision === revision, 'it has no copy');
  await primary.redis.replicaof('NO', 'ONE');
  await rename(begin, 'Haus am Wald');
  await ahead.refresh();

  expect(await namesIn(ahead.take(world.redis))).toEqual(['Haus am Wald']);
});

test('keeps nothing that is read while it is stopped', async () => {
  const { world, ahead } = await begun();
  const refreshed = ahead.refresh();
  ahead.stop();
  await refreshed;

  expect(await ahead.take(world.redis)).toBeUndefined();
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
