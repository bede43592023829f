import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { RecordKind } from '../../src/domain/site.js';
import { Health } from '../../src/site/health.js';
import { AlarmRetention } from '../../src/store/alarm-retention.js';
import { NEVER_SEEN, type SiteCounts } from '../../src/store/lost-data.js';
import { StoreWitness } from '../../src/store/store-witness.js';
import { useRedis } from '../harness/shared-redis.js';
import { AlarmWorld } from './alarm-world.js';
import { recordingLog, temporaryDirectory } from './embedded-support.js';

const place = useRedis();

/** A site with two devices and three alarms in a store, and its witness. */
class World {
  readonly alarms = new AlarmWorld(place);
  readonly path = join(temporaryDirectory(), 'store-witness.json');
  readonly messages: string[] = [];
  /** What the gateway has in memory. */
  site: SiteCounts = { revision: 0, records: NEVER_SEEN.records };
  health = new Health();
  witness = this.#witness();

  static async start(): Promise<World> {
    const world = new World();
    onTestFinished(() => world.witness.stop());
    await world.change('device', randomUUID());
    await world.change('device', randomUUID());
    for (let number = 0; number < 3; number++) await world.raise();
    await world.witness.start();
    world.witness.followSite(() => world.site);
    return world;
  }

  get redis() {
    return this.alarms.redis;
  }

  get keys() {
    return this.alarms.keys;
  }

  /** Creates a record, or removes it, as a change does that the gateway knows of. */
  async change(kind: RecordKind, id: string, isRemoved = false): Promise<void> {
    const [records, revision] = [this.keys.siteRecords(kind), this.keys.siteRevision];
    const change = this.redis.multi().incr(revision);
    await (isRemoved ? change.hdel(records, id) : change.hset(records, id, '{}')).exec();
    const count = this.site.records[kind] + (isRemoved ? -1 : 1);
    const counts = { ...this.site.records, [kind]: count };
    this.site = { revision: this.site.revision + 1, records: counts };
  }

  async raise(): Promise<void> {
    await this.alarms.record({ kind: 'fall', id: randomUUID() }, Date.now());
  }

  /** Starts the witness again, after something has happened to the store. */
  async restart(happens: () => Promise<unknown> = async () => undefined): Promise<void> {
    await this.witness.stop();
    await happens();
    this.health = new Health();
    this.witness = this.#witness();
    await this.witness.start();
    this.witness.followSite(() => this.site);
  }

  /** Resolves when the store was compared once more. */
  async isCompared(): Promise<void> {
    const looks = async () =>
      Number(/cmdstat_eval:calls=(\d+)/.exec(await this.redis.info('commandstats'))?.[1]);
    const seen = await looks();
    await expect.poll(looks).toBeGreaterThan(seen + 2);
  }

  /** What is said to be lost; undefined without a fault. */
  get lost(): string | undefined {
    const [message] = this.health.faults().map((fault) => fault.message);
    return message && /^The store has lost (.*), noticed at /.exec(message)?.[1];
  }

  acknowledge(): void {
    for (const { acknowledge } of this.health.faults()) acknowledge?.();
  }

  #witness(): StoreWitness {
    const { log, messages } = recordingLog();
    messages.push = (...lines) => this.messages.push(...lines);
    return new StoreWitness({
      redis: this.redis,
      keys: this.keys,
      path: this.path,
      site: 'site',
      health: this.health,
      log,
      now: Date.now,
      intervalMs: 20,
    });
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
  ['records', ({ redis, keys }) => redis.del(keys.siteRecords('device')), '2 devices'],
  ['one record', (world) => removeDevice(world), '1 device'],
  ['the newest change', ({ redis, keys }) => redis.decr(keys.siteRevision), '1 change of the site'],
  ['the history', (world) => deleteKeys(world, 'history'), 'up to 3 alarms (numbers 1 to 3)'],
  ['the groups', (world) => deleteKeys(world, 'alarm-groups:*'), '2 indexes of the history'],
  ['the indexes', (world) => deleteKeys(world, 'alarms:*'), '2 indexes of the history'],
  ['the places', (world) => deleteKeys(world, 'alarm-place:*'), '1 index of the history'],
  [
    'everything',
    (world) => deleteKeys(world, '*'),
    'everything stored, 2 devices, 2 changes of the site, up to 3 alarms (numbers 1 to 3)',
  ],
  [
    'everything for another store',
    async (world) => {
      await deleteKeys(world, '*');
      await world.redis.set(world.keys.identity, 'another');
    },
    'everything stored, 2 devices, 2 changes of the site, up to 3 alarms (numbers 1 to 3)',
  ],
];

it.each(DAMAGES)('tells while running that %s went, once', async (_, damage, lost) => {
  const world = await World.start();
  await world.isCompared();
  await damage(world);
  await expect.poll(() => world.lost).toBe(lost);
  await world.isCompared();
  expect(world.lost).toBe(lost);
  world.acknowledge();
  await world.isCompared();
  expect(world.lost).toBeUndefined();
});

it.each(DAMAGES)(
  'tells after a start that %s went, until it is acknowledged',
  async (_, damage, lost) => {
    const world = await World.start();
    await world.restart(() => damage(world));
    expect(world.lost).toBe(lost);
    await world.restart();
    expect(world.lost).toBe(lost);
    world.acknowledge();
    await world.isCompared();
    await world.restart();
    expect(world.lost).toBeUndefined();
  },
);

it('tells nothing of what a change or the retention removes', async () => {
  const world = await World.start();
  const { redis, keys } = world;
  const identity = await redis.get(keys.identity);
  const [device = ''] = await redis.hkeys(keys.siteRecords('device'));
  await world.change('device', device, true);
  await world.isCompared();
  const retention = new AlarmRetention({
    ...{ redis, keys, maxAgeMs: 0, unackedFrom: () => Number.POSITIVE_INFINITY },
    now: () => Number.MAX_SAFE_INTEGER,
  });
  expect(await retention.removeOld(new AbortController().signal)).toBe(3);
  await world.isCompared();
  await world.restart();
  expect(world.lost).toBeUndefined();
  expect(await redis.get(keys.identity)).toBe(identity);
});

it('tells what went together with a change', async () => {
  const world = await World.start();
  await world.isCompared();
  const { redis, keys } = world;
  world.site = { revision: 3, records: { ...world.site.records, location: 1 } };
  const change = redis
    .multi()
    .incr(keys.siteRevision)
    .hset(keys.siteRecords('location'), randomUUID(), '{}');
  await change.del(keys.siteRecords('device')).exec();
  await expect.poll(() => world.lost).toBe('2 devices');
});

it('adds up what goes one after the other', async () => {
  const world = await World.start();
  await world.isCompared();
  for (const lost of ['1 device', '2 devices']) {
    await removeDevice(world);
    await expect.poll(() => world.lost).toBe(lost);
  }
  world.witness.report({ alarms: { from: 2, to: 3 } });
  world.witness.report({ alarms: { from: 3, to: 5 }, counts: { backlog: 1 } });
  expect(world.lost).toBe('2 devices, 1 alarm of a backlog, up to 4 alarms (numbers 2 to 5)');
});

it('puts back an identity that is all that went', async () => {
  const world = await World.start();
  const { redis, keys } = world;
  const identity = await redis.getdel(keys.identity);
  await expect.poll(() => redis.get(keys.identity)).toBe(identity);
  expect(world.lost).toBeUndefined();
});

it('tells once what went from a store that takes no writes', async () => {
  const world = await World.start();
  const { redis, keys } = world;
  await world.isCompared();
  onTestFinished(async () => void (await redis.config('SET', 'min-replicas-to-write', 0)));
  await deleteKeys(world, '*');
  await redis.config('SET', 'min-replicas-to-write', 1);
  await expect.poll(() => world.lost).toContain('everything stored');
  const lost = world.lost;
  await world.isCompared();
  expect(world.lost).toBe(lost);
  await redis.config('SET', 'min-replicas-to-write', 0);
  await expect.poll(() => redis.get(keys.identity)).not.toBeNull();
  await world.isCompared();
  expect(world.lost).toBe(lost);
});

it('goes on without a file that is unreadable, or of another site', async () => {
  const world = await World.start();
  for (const text of [
    '{"site":',
    JSON.stringify({ site: 'another', store: NEVER_SEEN, finding: null }),
  ]) {
    await world.restart(async () => writeFileSync(world.path, text));
    expect(world.lost).toBeUndefined();
  }
  expect(world.messages.join()).toContain('failed to read the witness of the store');
  await world.restart(() => deleteKeys(world, 'history'));
  expect(world.lost).toBe('up to 3 alarms (numbers 1 to 3)');
});

it('compares though keys were overwritten with another type', async () => {
  const world = await World.start();
  const { redis, keys } = world;
  await world.restart(async () => {
    await redis.set(keys.siteRecords('device'), 'x');
    await redis.set(keys.history, 'x');
  });
  expect(world.lost).toBe('2 devices, up to 3 alarms (numbers 1 to 3)');
});

it('writes nothing to a store in order, which on a full disk would end it', async () => {
  const world = await World.start();
  await world.isCompared();
  const writes = async () =>
    Number(/rdb_changes_since_last_save:(\d+)/.exec(await world.redis.info('persistence'))?.[1]);
  const before = await writes();
  await world.isCompared();
  expect(before).toBeGreaterThan(0);
  expect(await writes()).toBe(before);
});
