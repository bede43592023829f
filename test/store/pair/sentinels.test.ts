/**
 * What the store makes of Sentinels: whom it asks, whom a majority takes for the primary, and where its connections go.
 * All tests share a pair whose Sentinels decide within a second.
 */
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Failovers, SentinelMajority, type Sought } from '../../../src/store/pair/sentinels.js';
import {
  connectManagementRedis,
  connectRedis,
  type StoreConnection,
  StoreOutages,
  type StorePlace,
  untilReady,
} from '../../../src/store/server/connection.js';
import { Store } from '../../../src/store/store.js';
import { eventually } from '../../harness/index.js';
import type { RedisProgram } from '../../harness/redis.js';
import { RedisPair } from '../../harness/redis-pair.js';
import { recordingLog } from '../embedded-support.js';
import { ConfirmedStore, startServer } from './replica-world.js';

const RECENTLY_MS = 1_500;
/** Of the hurried Sentinels. */
const DOWN_AFTER_MS = 500;
/** They have a new primary within this time, and tests wait for nothing else. */
const TAKEOVER_MS = 30_000;

let pair: RedisPair;
beforeAll(async () => {
  pair = await RedisPair.start({ isHurried: true });
});
afterAll(() => pair.remove());

/** Asks these Sentinels. */
function majorityOf(programs: readonly RedisProgram[]): SentinelMajority {
  const sentinels = programs.map(({ port }) => ({ host: '127.0.0.1', port }));
  const access = { password: pair.sentinelPassword };
  return new SentinelMajority({ sentinels, name: pair.name, access });
}

/** A server to ask about, as a gateway behind a proxy knows it: only by its run id. */
async function sought(server: RedisProgram): Promise<Sought> {
  const runId = (await server.info('server', 'run_id')) ?? '';
  return { runId, host: undefined, port: undefined, heardWithinMs: RECENTLY_MS };
}

/** Freezes programs until the end of the test. */
function freeze(...programs: readonly RedisProgram[]): void {
  for (const program of programs) program.freeze();
  onTestFinished(() => {
    for (const program of programs) program.thaw();
  });
}

async function setDownAfter(ms: number): Promise<void> {
  const setting = ['set', pair.name, 'down-after-milliseconds', ms] as const;
  await Promise.all(pair.sentinelPrograms.map(({ redis }) => redis.call('sentinel', ...setting)));
}

/** A store whose writes the replica of the pair must confirm or, failing that, the Sentinels allow. */
function confirmedStore(primary: RedisProgram): ConfirmedStore {
  const majority = majorityOf(pair.sentinelPrograms);
  return new ConfirmedStore({ port: primary.port, password: pair.password }, { majority });
}

describe('the majority of the Sentinels', () => {
  test('recognises the primary, and not the replica', async () => {
    const majority = majorityOf(pair.sentinelPrograms);
    const [primary, replica] = [await pair.primary(), await pair.replica()];

    expect(await majority.takesForPrimary(await sought(primary))).toBe(true);
    expect(await majority.takesForPrimary(await sought(replica))).toBe(false);
  });

  test('exists without one Sentinel, but not without two', async () => {
    const majority = majorityOf(pair.sentinelPrograms);
    const primary = await sought(await pair.primary());
    const [, second, third] = pair.sentinelPrograms;
    if (second === undefined || third === undefined) throw new Error('too few Sentinels');

    freeze(third);
    expect(await majority.takesForPrimary(primary)).toBe(true);
    freeze(second);
    expect(await majority.takesForPrimary(primary)).toBe(false);
    second.thaw();
    await eventually(async () => expect(await majority.takesForPrimary(primary)).toBe(true));
  });

  test('counts Sentinels that the configuration does not name', async () => {
    const majority = majorityOf(pair.sentinelPrograms.slice(0, 1));
    const primary = await sought(await pair.primary());

    expect(await majority.takesForPrimary(primary)).toBe(false);
  });

  test('does not confirm a frozen primary', async () => {
    const majority = majorityOf(pair.sentinelPrograms);
    const primary = await pair.primary();
    const frozen = await sought(primary);
    // Keeps the Sentinels from calling it down during the test.
    await setDownAfter(60_000);
    onTestFinished(() => setDownAfter(DOWN_AFTER_MS));
    freeze(primary);

    await eventually(async () => expect(await majority.takesForPrimary(frozen)).toBe(false));
    primary.thaw();
    await eventually(async () => expect(await majority.takesForPrimary(frozen)).toBe(true));
  });
});

describe('a primary without its replica', () => {
  test('acknowledges while most Sentinels recognise it as the primary', async () => {
    const [primary, replica] = [await pair.primary(), await pair.replica()];
    const store = confirmedStore(primary).start();
    const door = store.patient();
    await door.write(['SET', '{home}:one', 'before']);
    freeze(replica);

    await door.write(['SET', '{home}:one', 'alone']);

    expect(store.faults.all).toEqual([expect.stringMatching(/one machine only/)]);
  });

  test('acknowledges nothing while it is cut off from most Sentinels, and resumes afterwards', async () => {
    const [primary, replica] = [await pair.primary(), await pair.replica()];
    const [, second, third] = pair.sentinelPrograms;
    if (second === undefined || third === undefined) throw new Error('too few Sentinels');
    const store = confirmedStore(primary).start();
    const door = store.patient();
    const management = await store.failing();
    await door.write(['SET', '{home}:one', 'before']);
    freeze(replica, second, third);
    let isAnswered = false;

    const write = door.write(['SET', '{home}:one', 'during']).finally(() => {
      isAnswered = true;
    });

    await eventually(() =>
      expect(store.faults.own).toEqual([expect.stringMatching(/most Sentinels/)]),
    );
    await expect(management.write(['SET', '{home}:two', ''])).rejects.toThrow(/most Sentinels/);
    expect(await management.read((redis) => redis.get('{home}:two'))).toBeNull();
    expect(isAnswered).toBe(false);
    third.thaw();
    expect(await write).toEqual(['OK']);
    expect(store.faults.own).toEqual([]);
    expect(await management.write(['SET', '{home}:two', ''])).toEqual(['OK']);
  });
});

describe('the majority of the Sentinels in a failover', () => {
  test('is lost as soon as one Sentinel replaces the primary, and recognises the next one by its address immediately', async () => {
    const majority = majorityOf(pair.sentinelPrograms);
    const [primary, replica] = [await pair.primary(), await pair.replica()];
    const former = await sought(primary);
    expect(await majority.takesForPrimary(former)).toBe(true);
    const [first] = pair.sentinelPrograms;
    await eventually(async () => {
      const found = await first?.redis.call('sentinel', 'replicas', pair.name);
      expect(String(found)).toMatch(/,flags,slave,/);
    });
    // It is not promoted before it is thawed.
    freeze(replica);

    await first?.redis.call('sentinel', 'failover', pair.name);

    // The other Sentinels do not know yet.
    expect(await majority.takesForPrimary(former)).toBe(false);
    replica.thaw();
    await pair.untilTakenOver(primary);
    const next = { ...former, runId: 'not known yet', host: '127.0.0.1', port: replica.port };
    await eventually(async () => expect(await majority.takesForPrimary(next)).toBe(true));
    expect(await majority.takesForPrimary(former)).toBe(false);
    await pair.untilReplicated();
  });
});

/** A store behind the pair's Sentinels, or behind some of them. */
function placeOfPair(sentinels = pair.sentinelPrograms): StorePlace {
  const place = {
    sentinels: sentinels.map(({ port }) => ({ host: '127.0.0.1', port })),
    name: pair.name,
    access: { password: pair.sentinelPassword },
  };
  const failovers = new Failovers(place, recordingLog().log);
  failovers.start();
  onTestFinished(() => failovers.stop());
  return { primary: failovers, access: { password: pair.password } };
}

function connected(connect: typeof connectRedis, place: StorePlace): StoreConnection {
  const { log } = recordingLog();
  const redis = connect({ ...place, log, outages: new StoreOutages(log), name: 'test' });
  onTestFinished(() => redis.disconnect());
  return redis;
}

/** A store that waits for the primary, as on the message path. */
function patient(place: StorePlace): Store {
  return new Store(connected(connectRedis, place), '{site}:', { isPatient: true });
}

async function portOf(store: Store): Promise<number> {
  const info = await store.read((redis) => redis.info('server'));
  return Number(/^tcp_port:(\d+)/m.exec(info)?.[1]);
}

describe('behind Sentinels, a store', () => {
  test('continues at the new primary when the former is silent, but never sends a change later', async () => {
    const redis = connected(connectRedis, placeOfPair());
    const store = new Store(redis, '{site}:', { isPatient: true });
    const management = connected(connectManagementRedis, placeOfPair());
    await store.write(['SET', 'before', '1']);
    await redis.wait(1, 5_000);
    await untilReady(management, TAKEOVER_MS);
    const former = await pair.primary();
    freeze(former);
    const frozenInTheHandshake = patient(placeOfPair());
    const writes = [
      store.write(['SET', 'during', '1']),
      frozenInTheHandshake.write(['SET', 'handshake', '1']),
    ];
    await expect(management.set('change', '1')).rejects.toThrow();
    await expect(management.get('other')).rejects.toThrow();
    expect(await Promise.all(writes)).toEqual([['OK'], ['OK']]);
    expect(await pair.replica()).toBe(former);
    await untilReady(management, TAKEOVER_MS);
    await pair.untilAgreed();
    former.thaw();
    await pair.untilReplicated();
    const keys = ['before', 'during', 'handshake', 'change'];
    for (const one of [redis, management]) {
      expect(await one.mget(keys), `from ${one.stream.remotePort}`).toEqual(['1', '1', '1', null]);
    }
    // The thawed one has what its socket held until it is a replica.
    await eventually(async () =>
      expect(await former.redis.mget(keys)).toEqual(['1', '1', '1', null]),
    );
  });

  test('connects when one Sentinel is frozen and another is gone', async () => {
    const [first, second] = pair.sentinelPrograms;
    if (first === undefined || second === undefined) throw new Error('there is no Sentinel');
    freeze(first);
    await second.kill();
    const store = patient(placeOfPair());
    expect(await portOf(store)).toBe((await pair.primary()).port);
    await second.start();
  });

  test('closes, and fails what waits, while no Sentinel answers', async () => {
    const [first] = pair.sentinelPrograms;
    if (first === undefined) throw new Error('there is no Sentinel');
    freeze(first);
    const store = patient(placeOfPair([first]));
    const unsent = expect(store.read((redis) => redis.get('a'))).rejects.toThrow();
    store.close();
    await unsent;
  });
});

test('when no Sentinel names a primary, the error says why, for each', async () => {
  const sentinels = pair.sentinelPrograms.map(({ port }) => ({ host: '127.0.0.1', port }));
  const place = { sentinels, name: 'other', access: { password: pair.sentinelPassword } };
  const found = new Failovers(place, recordingLog().log).find();
  const each = sentinels.map(({ port }) => `127.0.0.1:${port}: ERR No such master with that name`);
  const error: unknown = await found.catch((reason: unknown) => reason);
  const [text = '', reasons = ''] = String(error).split('of other: ');
  expect(text).toContain('no Sentinel names the primary');
  expect(reasons.split('; ').toSorted()).toEqual(each.toSorted());
});

test('a primary may have the name of a field', async () => {
  const [sentinel] = pair.sentinelPrograms;
  const { port } = await pair.primary();
  await sentinel?.redis.call('sentinel', 'monitor', 'ip', '127.0.0.1', port, 2);
  onTestFinished(() => void sentinel?.redis.call('sentinel', 'remove', 'ip'));
  const sentinels = [{ host: '127.0.0.1', port: sentinel?.port ?? 0 }];
  const place = { sentinels, name: 'ip', access: { password: pair.sentinelPassword } };
  expect(await new Failovers(place, recordingLog().log).find()).toEqual({
    host: '127.0.0.1',
    port,
  });
});

describe('at a fixed address, a store', () => {
  test('waits until a server that has become a replica accepts writes again', async () => {
    const server = await startServer();
    const url = `redis://127.0.0.1:${server.port}`;
    const redis = connected(connectRedis, { url });
    const store = new Store(redis, '{site}:', { isPatient: true });
    const management = connected(connectManagementRedis, { url });
    await untilReady(management, TAKEOVER_MS);
    await store.write(['SET', 'fixed', '0']);
    await server.redis.replicaof('127.0.0.1', 1);
    const written = store.write(['SET', 'fixed', '1']);
    await expect(management.set('other', '1')).rejects.toThrow(/^READONLY/);
    await once(redis, 'reconnecting');
    await server.redis.replicaof('NO', 'ONE');
    expect(await written).toEqual(['OK']);
    expect(await server.redis.get('fixed')).toBe('1');
  });
});
