import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { faultWords } from '../../src/domain/fault.js';
import type { RecordKind } from '../../src/domain/site.js';
import { Health } from '../../src/site/health/health.js';
import { historyRetention } from '../../src/store/history/history-log.js';
import { keysOf } from '../../src/store/keys.js';
import { Store } from '../../src/store/store.js';
import { NEVER_SEEN, type SiteCounts, StoreWitness } from '../../src/store/witness.js';
import { RedisProgram } from '../harness/redis.js';
import { recordingLog, temporaryDirectory } from './embedded-support.js';

let place: RedisProgram;
beforeAll(async () => {
  place = await RedisProgram.start();
});
afterAll(() => place.remove());

/** A site with two devices and three alarms in a store, and the store's witness. */
class World {
  readonly redis = new Redis({ path: place.socketPath });
  readonly keys = keysOf(randomUUID());
  readonly path = join(temporaryDirectory(), 'store-witness.json');
  readonly logged = recordingLog();
  /** What the gateway has in memory. */
  site: SiteCounts = NEVER_SEEN.site;
  health = new Health();
  witness: StoreWitness | undefined;

  static async start(): Promise<World> {
    const world = new World();
    onTestFinished(() => world.redis.disconnect());
    await world.change('device', randomUUID());
    await world.change('device', randomUUID());
    for (let number = 0; number < 3; number++) await world.raise();
    await world.restart();
    return world;
  }

  /** Creates or removes a record, like a change that the gateway knows of. */
  async change(kind: RecordKind, id: string, isRemoved = false): Promise<void> {
    const records = this.keys.siteRecords(kind);
    const change = this.redis.multi().incr(this.keys.siteRevision);
    await (isRemoved ? change.hdel(records, id) : change.hset(records, id, '{}')).exec();
    const count = this.site[kind] + (isRemoved ? -1 : 1);
    this.site = { ...this.site, [kind]: count, change: this.site.change + 1 };
  }

  /** Records an alarm with what lists it. */
  async raise(): Promise<void> {
    const { redis, keys } = this;
    const number = await redis.incr(keys.historySequence);
    const placed = JSON.stringify({ location: { id: 'home' }, device: { id: 'bed' }, group: null });
    const fields = ['i', '0123456789abcdef', 'k', '0', 't', Date.now(), 'c', placed];
    await redis
      .multi()
      .xadd(keys.history, `${number}-0`, ...fields)
      .exec();
  }

  /** Starts the witness again, as a gateway does. */
  async restart(): Promise<void> {
    this.health = new Health();
    const { redis, keys, path, health } = this;
    const { log } = this.logged;
    const store = new Store(redis, keys.sitePrefix);
    const options = { store, keys, path, site: 'site', health, log, now: Date.now };
    this.witness = await StoreWitness.start(options);
    this.witness.followSite(() => this.site);
  }

  /** What the fault says is lost; undefined without a fault. */
  get lost(): string | undefined {
    const [message] = this.health.shown().map((fault) => faultWords(fault, 'en').message);
    return message && /^The store has lost (.*), noticed at /.exec(message)?.[1];
  }

  /** Compares the store once more; resolves to what is lost. */
  async compared(): Promise<string | undefined> {
    await this.witness?.check();
    return this.lost;
  }

  acknowledge(): void {
    for (const { acknowledge } of this.health.shown()) acknowledge?.();
  }
}

type Damage = (world: World) => Promise<unknown>;

async function deleteKeys({ redis, keys }: World, pattern: string): Promise<void> {
  await redis.del(await redis.keys(keys.sitePrefix + pattern));
}

/** Removes the record of one device. */
async function removeDevice({ redis, keys }: World): Promise<void> {
  const [id = ''] = await redis.hkeys(keys.siteRecords('device'));
  await redis.hdel(keys.siteRecords('device'), id);
}

const DAMAGES: readonly [string, Damage, string][] = [
  ['records', ({ redis, keys }) => redis.del(keys.siteRecords('device')), 'devices: 2'],
  ['one record', (world) => removeDevice(world), 'devices: 1'],
  [
    'the newest change',
    ({ redis, keys }) => redis.decr(keys.siteRevision),
    'changes of the site: 1',
  ],
  ['the history', (world) => deleteKeys(world, 'history'), 'entries 1 to 3 of the history'],
  [
    'everything',
    (world) => deleteKeys(world, '*'),
    'everything stored, devices: 2, changes of the site: 2, entries 1 to 3 of the history',
  ],
  [
    'everything for another store',
    async (world) => {
      await deleteKeys(world, '*');
      await world.redis.set(world.keys.identity, 'another');
    },
    'everything stored, devices: 2, changes of the site: 2, entries 1 to 3 of the history',
  ],
];

it.each(DAMAGES)('reports the loss of %s once, while running', async (_, damage, lost) => {
  const world = await World.start();
  await damage(world);
  expect(await world.compared()).toBe(lost);
  expect(await world.compared()).toBe(lost);
  world.acknowledge();
  expect(await world.compared()).toBeUndefined();
});

it.each(DAMAGES)(
  'reports the loss of %s after a start, until it is acknowledged',
  async (_, damage, lost) => {
    const world = await World.start();
    await damage(world);
    await world.restart();
    expect(world.lost).toBe(lost);
    await world.restart();
    expect(world.lost).toBe(lost);
    world.acknowledge();
    await world.compared();
    await world.restart();
    expect(world.lost).toBeUndefined();
  },
);

it('does not report what a change or the retention removes', async () => {
  const world = await World.start();
  const { redis, keys } = world;
  const identity = await redis.get(keys.identity);
  const [device = ''] = await redis.hkeys(keys.siteRecords('device'));
  await world.change('device', device, true);
  expect(await world.compared()).toBeUndefined();
  const retention = historyRetention(
    new Store(redis, keys.sitePrefix),
    0,
    () => Number.MAX_SAFE_INTEGER,
    () => Promise.resolve(Number.POSITIVE_INFINITY),
  );
  expect(await retention.removeOld(new AbortController().signal)).toBe(3);
  expect(await world.compared()).toBeUndefined();
  await world.restart();
  expect(world.lost).toBeUndefined();
  expect(await redis.get(keys.identity)).toBe(identity);
});

it('reports what was lost together with a change once the gateway has made that change in memory', async () => {
  const world = await World.start();
  const before = world.site;
  await world.redis.del(world.keys.siteRecords('device'));
  await world.change('location', randomUUID());
  const after = world.site;
  world.site = before;
  expect(await world.compared()).toBeUndefined();
  world.site = after;
  expect(await world.compared()).toBe('devices: 2');
});

it('adds up successive losses', async () => {
  const world = await World.start();
  for (const lost of ['devices: 1', 'devices: 2']) {
    await removeDevice(world);
    expect(await world.compared()).toBe(lost);
  }
  world.witness?.report({ alarms: { from: 2, to: 3 } });
  world.witness?.report({ alarms: { from: 3, to: 5 }, counts: { backlog: 1 } });
  expect(world.lost).toBe('devices: 2, alarms of backlogs: 1, entries 2 to 5 of the history');
});

it('restores an identity when nothing else was lost', async () => {
  const world = await World.start();
  const { redis, keys } = world;
  const identity = await redis.getdel(keys.identity);
  expect(await world.compared()).toBeUndefined();
  expect(await redis.get(keys.identity)).toBe(identity);
});

it('reports once what was lost from a store that refuses writes', async () => {
  const world = await World.start();
  const { redis, keys } = world;
  onTestFinished(async () => void (await redis.config('SET', 'min-replicas-to-write', 0)));
  await deleteKeys(world, '*');
  await redis.config('SET', 'min-replicas-to-write', 1);
  const lost = await world.compared();
  expect(lost).toContain('everything stored');
  expect(await world.compared()).toBe(lost);
  expect(world.logged.messages.join()).toContain('failed to look for lost data');
  await redis.config('SET', 'min-replicas-to-write', 0);
  expect(await world.compared()).toBe(lost);
  expect(await redis.get(keys.identity)).toBe(world.witness?.identity);
});

it('continues without a file that is unreadable, or of another site', async () => {
  const world = await World.start();
  const ofAnother = JSON.stringify({ site: 'another', store: NEVER_SEEN, finding: null });
  for (const text of ['{"site":', ofAnother]) {
    writeFileSync(world.path, text);
    await world.restart();
    expect(world.lost).toBeUndefined();
  }
  expect(world.logged.messages.join()).toContain('failed to read the witness of the store');
  await deleteKeys(world, 'history');
  await world.restart();
  expect(world.lost).toBe('entries 1 to 3 of the history');
});

it('compares even if keys were overwritten with another type', async () => {
  const world = await World.start();
  const { redis, keys } = world;
  for (const key of [keys.siteRecords('device'), keys.history]) await redis.set(key, 'x');
  expect(await world.compared()).toBe('devices: 2, entries 1 to 3 of the history');
});

it('restores an identity that was overwritten with another type, without retrying forever', async () => {
  const world = await World.start();
  const { redis, keys } = world;
  await redis.del(keys.identity);
  await redis.rpush(keys.identity, 'x');
  expect(await world.compared()).toBeUndefined();
  expect(await redis.type(keys.identity)).toBe('string');
});

it('writes nothing to an intact store, because a full disk would end it', async () => {
  const world = await World.start();
  const writes = async () =>
    Number(/rdb_changes_since_last_save:(\d+)/.exec(await world.redis.info('persistence'))?.[1]);
  const before = await writes();
  await world.compared();
  expect(before).toBeGreaterThan(0);
  expect(await writes()).toBe(before);
});
