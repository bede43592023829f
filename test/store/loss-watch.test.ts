import { randomUUID } from 'node:crypto';
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { GatewayError } from '../../src/errors.js';
import { type AuditEntry, GATEWAY_ACTOR } from '../../src/site/audit-trail.js';
import { Health } from '../../src/site/health.js';
import { Losses } from '../../src/site/losses.js';
import { Keys } from '../../src/store/keys.js';
import { LossFile } from '../../src/store/loss-file.js';
import { LossWatch } from '../../src/store/loss-watch.js';
import { WitnessFile } from '../../src/store/store-witness.js';
import { faultTexts } from '../harness/fault-texts.js';
import { embeddedRedis, recordingLog, temporaryDirectory, until } from './embedded-support.js';

const SITE = 'site';
const keys = new Keys(SITE);
const STORE = 'redis/appendonlydir';

/** An embedded store with a witness, and what a gateway does with it. */
class World {
  readonly dataDir = temporaryDirectory();
  health = new Health();
  losses = this.#losses();
  messages: string[] = [];
  redis: Redis | undefined;
  #end: () => Promise<void> = async () => undefined;

  static async start(): Promise<World> {
    const world = new World();
    await world.start();
    return world;
  }

  /** @param before what happens to the store before the witness is compared with it */
  async start(site = SITE, before?: (redis: Redis) => Promise<void>): Promise<void> {
    const { embedded } = embeddedRedis(this.dataDir);
    await embedded.start();
    const redis = new Redis({ path: embedded.socketPath });
    this.redis = redis;
    await before?.(redis);
    const { log, messages } = recordingLog();
    this.messages = messages;
    this.health = new Health();
    this.losses = this.#losses();
    await this.losses.load();
    const file = new WitnessFile(join(this.dataDir, 'store-witness.json'), site, log);
    const { losses } = this;
    const watch = new LossWatch({
      ...{ redis, keys: new Keys(site), file, losses, log, now: Date.now, intervalMs: 50 },
    });
    await watch.start();
    this.#end = async () => {
      this.#end = async () => undefined;
      await watch.stop();
      redis.disconnect();
      await embedded.stop();
    };
    onTestFinished(() => this.#end());
  }

  async stop(): Promise<void> {
    await this.#end();
  }

  get connection(): Redis {
    if (this.redis === undefined) throw new Error('not started');
    return this.redis;
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** Records alarms as the gateway numbers them. */
  async alarms(count: number): Promise<void> {
    await recordAlarms(this.connection, count);
  }

  /** Waits until the file has the newest number of the alarms. */
  async isWitnessed(alarms: number): Promise<void> {
    const file = join(this.dataDir, 'store-witness.json');
    await until(
      () => existsSync(file) && readFileSync(file, 'utf8').includes(`"alarms":${alarms},`),
    );
  }

  found(): unknown[] {
    return this.losses.list().map(({ what, from, to, count }) => [what, from, to, count]);
  }

  #losses(): Losses {
    const { log } = recordingLog();
    const record = async (_: readonly AuditEntry[]) => undefined;
    return new Losses({
      store: new LossFile(join(this.dataDir, 'losses.json'), log),
      ...{ audit: { record }, health: this.health, log, now: Date.now },
    });
  }
}

async function recordAlarms(redis: Redis, count: number): Promise<void> {
  for (let index = 0; index < count; index++) {
    const sequence = await redis.incr(keys.logSequence('alarms'));
    await redis.xadd(keys.history, `${sequence}-0`, 'i', randomUUID());
  }
}

test('recognises the store after a restart, and finds nothing missing', async () => {
  const world = await World.start();
  const identity = await world.connection.get(keys.identity);
  await world.alarms(3);
  await world.restart();
  await world.alarms(2);
  await world.restart();
  expect(await world.connection.get(keys.identity)).toBe(identity);
  await world.isWitnessed(5);
  expect(world.found()).toEqual([]);
  expect(faultTexts(world.health.faults())).toEqual([]);
});

test('reports how many and which alarms are missing when the store is back at an earlier state', async () => {
  const world = await World.start();
  await world.alarms(5);
  await world.stop();
  const copy = join(temporaryDirectory(), 'copy');
  cpSync(join(world.dataDir, STORE), copy, { recursive: true });
  await world.start();
  await world.alarms(4);
  await world.stop();
  rmSync(join(world.dataDir, STORE), { recursive: true });
  cpSync(copy, join(world.dataDir, STORE), { recursive: true });

  await world.start();
  expect(world.found()).toEqual([['alarms', 6, 9, 4]]);
  expect(faultTexts(world.health.faults())).toEqual([
    expect.stringMatching(/^The store has lost up to 4 alarms \(numbers 6 to 9\)/),
  ]);
  // Reported once, and still known after the next start.
  await world.restart();
  expect(world.found()).toEqual([['alarms', 6, 9, 4]]);
  expect(faultTexts(world.health.faults())).toHaveLength(1);
});

test('notices that the store went back when as many alarms have come since', async () => {
  const world = await World.start();
  await world.alarms(5);
  await world.stop();
  const copy = join(temporaryDirectory(), 'copy');
  cpSync(join(world.dataDir, STORE), copy, { recursive: true });
  await world.start();
  await world.alarms(4);
  await world.stop();
  rmSync(join(world.dataDir, STORE), { recursive: true });
  cpSync(copy, join(world.dataDir, STORE), { recursive: true });

  await world.start(SITE, (redis) => recordAlarms(redis, 20));
  expect(world.found()).toEqual([['alarms', null, 9, null]]);
  expect(faultTexts(world.health.faults()).join()).toMatch(/lost alarms .numbers up to 9/);
});

test('reports once, within seconds, that a running store was emptied', async () => {
  const world = await World.start();
  await world.alarms(7);
  await world.isWitnessed(7);
  const before = await world.connection.get(keys.identity);
  await world.connection.flushall();
  await until(() => world.losses.list().length > 0);
  expect(world.found()).toEqual([
    ['alarms', 1, 7, 7],
    ['store', null, null, null],
  ]);
  expect(faultTexts(world.health.faults())).toHaveLength(2);
  expect(faultTexts(world.health.faults()).join()).toMatch(/everything stored/);
  // Neither the next check nor the next start reports the loss again.
  await world.alarms(2);
  await world.isWitnessed(2);
  expect(await world.connection.get(keys.identity)).not.toBe(before);
  await world.restart();
  expect(world.found()).toHaveLength(2);
});

test('reports a loss once while the emptied store takes no writes', async () => {
  const world = await World.start();
  await world.alarms(7);
  await world.isWitnessed(7);
  const { connection } = world;
  await connection.multi().flushall().config('SET', 'min-replicas-to-write', 1).exec();
  await until(() => world.losses.list().length > 0);
  const looks = async () =>
    Number(/cmdstat_eval:calls=(\d+)/.exec(await connection.info('commandstats'))?.[1]);
  const seen = await looks();
  await expect.poll(looks).toBeGreaterThan(seen + 2);
  expect(world.found()).toHaveLength(2);
  await connection.config('SET', 'min-replicas-to-write', 0);
  await world.isWitnessed(0);
  expect(world.found()).toHaveLength(2);
});

test('starts on an empty store, and reports it, when the append-only directory is missing', async () => {
  const world = await World.start();
  await world.alarms(7);
  await world.stop();
  rmSync(join(world.dataDir, STORE), { recursive: true });
  await world.start();
  expect(world.found()).toEqual([
    ['alarms', 1, 7, 7],
    ['store', null, null, null],
  ]);
});

test('reports that the store is another one', async () => {
  const [world, other] = [await World.start(), await World.start()];
  await world.alarms(3);
  await other.alarms(50);
  await Promise.all([world.stop(), other.stop()]);
  rmSync(join(world.dataDir, STORE), { recursive: true });
  cpSync(join(other.dataDir, STORE), join(world.dataDir, STORE), { recursive: true });
  await world.start();
  expect(world.found()).toEqual([
    ['alarms', 1, 3, 3],
    ['store', null, null, null],
  ]);
  expect(world.losses.list().at(-1)?.detail).toContain('is another one');
});

test('reports nothing about a site that it has never seen in the store', async () => {
  const world = await World.start();
  await world.alarms(3);
  await world.stop();
  await world.start('another');
  expect(world.found()).toEqual([]);
});

test('goes on without an unreadable witness', async () => {
  const world = await World.start();
  await world.alarms(3);
  await world.stop();
  writeFileSync(join(world.dataDir, 'store-witness.json'), '{"site":');
  writeFileSync(join(world.dataDir, 'losses.json'), '[{]');
  await world.start();
  expect(world.found()).toEqual([]);
  expect(world.messages.join()).toContain('failed to read the witness of the store');
  await world.isWitnessed(3);
});

test.each([
  ['lost', (redis: Redis) => redis.del(keys.logSequence('alarms'))],
  ['behind', (redis: Redis) => redis.set(keys.logSequence('alarms'), 2)],
  ['no number', (redis: Redis) => redis.set(keys.logSequence('alarms'), 'x')],
])('raises a counter that is %s, at the start and while running', async (_, damage) => {
  const world = await World.start();
  await world.alarms(5);
  await world.isWitnessed(5);
  await damage(world.connection);
  const counter = () => world.connection.get(keys.logSequence('alarms'));
  await expect.poll(counter).toBe('5');
  await world.alarms(1);
  // The stream knows the number of an entry that is gone.
  await world.connection.xtrim(keys.history, 'MAXLEN', 0);
  await world.stop();
  await world.start(SITE, async (redis) => void (await damage(redis)));
  expect(await counter()).toBe('6');
  await world.alarms(1);
  expect(world.found()).toEqual([]);
});

test('keeps a loss acknowledged after a restart, without a fault', async () => {
  const world = await World.start();
  const details = { from: 1, to: 9, count: 9, detail: 'gone' };
  world.losses.report({ what: 'messages', ...details });
  const [loss] = world.losses.list();
  const seen = await world.losses.acknowledge({ ...GATEWAY_ACTOR, id: 'admin' }, loss?.id ?? '');
  expect(seen.acknowledgedBy).toBe('admin');
  await world.restart();
  expect(world.losses.list()).toEqual([seen]);
  expect(faultTexts(world.health.faults())).toEqual([]);
  await expect(world.losses.acknowledge(GATEWAY_ACTOR, 'unknown')).rejects.toThrow(GatewayError);
});

test('writes nothing to a store in order, which on a full disk would end it', async () => {
  const world = await World.start();
  await world.alarms(3);
  await world.isWitnessed(3);
  const stat = async (section: string, name: string) =>
    Number(new RegExp(`${name}(\\d+)`).exec(await world.connection.info(section))?.[1]);
  const writes = () => stat('persistence', 'rdb_changes_since_last_save:');
  const looks = () => stat('commandstats', 'cmdstat_eval:calls=');
  const [before, seen] = [await writes(), await looks()];
  await expect.poll(looks).toBeGreaterThan(seen + 1);
  expect(before).toBeGreaterThan(0);
  expect(await writes()).toBe(before);
});
