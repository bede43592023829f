import type { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { eventually } from '../../harness/index.js';
import { CutProxy } from '../../harness/proxy.js';
import type { RedisProgram } from '../../harness/redis.js';
import { until } from '../../harness/wait.js';
import {
  ConfirmedStore,
  startReplica,
  startReplicaOfReplica,
  startServer,
  WaitCutter,
} from './replica-world.js';

const REFUSAL = /nothing is acknowledged/;
/** A replica may be slow on a busy machine. */
const PATIENT = { timeoutMs: 20_000 };

/** Whether a patient write is still unanswered once the replicas have been asked twice more. */
async function isPending(primary: RedisProgram, write: Promise<unknown>): Promise<boolean> {
  let isAnswered = false;
  void write.then(() => {
    isAnswered = true;
  });
  const asked = async () => {
    const calls = await primary.info('commandstats', 'cmdstat_wait(?:aof)?');
    return Number(/calls=(\d+)/.exec(calls ?? '')?.[1] ?? 0);
  };
  const before = await asked();
  const isAskedAgain = async () => isAnswered || (await asked()) >= before + 2;
  await until(isAskedAgain, 'the replicas are not asked again');
  return !isAnswered;
}

/** A primary, with a replica behind a line that can be cut. */
async function startPair() {
  const primary = await startServer();
  const line = await CutProxy.start(primary.port);
  const replica = await startReplica(line);
  return { primary, line, replica };
}

/** How many calls of the matching commands a server has counted. */
async function callsOf(redis: Redis, counted: RegExp): Promise<number> {
  const stats = await redis.info('commandstats');
  return [...stats.matchAll(counted)].reduce((sum, [, , calls]) => sum + Number(calls), 0);
}

describe('a write', () => {
  test('is answered once the replica has it', async () => {
    const primary = await startServer();
    const replica = await startReplica(primary);
    const door = new ConfirmedStore(primary, PATIENT).start().patient();

    for (let at = 0; at < 100; at++) {
      await door.write(['SET', '{home}:one', String(at)]);

      expect(await replica.redis.get('{home}:one')).toBe(String(at));
    }
  });

  test('waits while the replica is frozen if it may not continue alone', async () => {
    const primary = await startServer();
    const replica = await startReplica(primary);
    const store = new ConfirmedStore(primary, { withoutReplica: 'refuse' }).start();
    const door = store.patient();
    await door.write(['SET', '{home}:one', 'before']);
    replica.freeze();

    const write = door.write(['SET', '{home}:one', 'during']);

    await eventually(() => expect(store.faults.own).toEqual([expect.stringMatching(REFUSAL)]));
    expect(await isPending(primary, write)).toBe(true);
    // Other clients can read meanwhile.
    expect(await primary.redis.get('{home}:one')).toBe('during');
    replica.thaw();
    expect(await write).toEqual(['OK']);
    expect(await replica.redis.get('{home}:one')).toBe('during');
    await eventually(() => expect(store.faults.all).toEqual([]));
  });

  test('asks a slow replica once for all concurrent writes', async () => {
    const primary = await startServer();
    const replica = await startReplica(primary);
    const store = new ConfirmedStore(primary, PATIENT).start();
    const door = store.patient();
    await door.write(['SET', '{home}:one', 'before']);
    replica.freeze();
    await primary.redis.config('RESETSTAT');

    const writes = Array.from({ length: 200 }, (_, at) =>
      door.write(['INCRBY', '{home}:sum', String(at)]),
    );
    await eventually(async () => expect(await primary.redis.get('{home}:sum')).toBe('19900'));

    // With a WAIT for each write, the connection would be blocked for 20 s before the last write reached the store.
    expect(await callsOf(primary.redis, /^cmdstat_wait(aof)?:calls=(\d+)/gm)).toBeLessThan(20);
    replica.thaw();
    await Promise.all(writes);
    expect(await replica.redis.get('{home}:sum')).toBe('19900');
  });

  test('is not acknowledged when the server accepts no mark', async () => {
    const primary = await startServer();
    await startReplica(primary);
    await primary.redis.call('ACL', 'SETUSER', 'default', '-set', '-expire');
    const store = new ConfirmedStore(primary, { withoutReplica: 'refuse' }).start();

    const write = store.patient().write(['HSET', '{home}:one', 'field', 'value']);

    await eventually(() => expect(store.faults.own).toEqual([expect.stringMatching(REFUSAL)]));
    expect(await isPending(primary, write)).toBe(true);
    await primary.redis.call('ACL', 'SETUSER', 'default', '+set', '+expire');
    expect(await write).toEqual([0]);
  });

  test('is answered although the machine stood still while the Sentinels were asked', async () => {
    const primary = await startServer();
    const replica = await startReplica(primary);
    let aheadMs = 0;
    const takesForPrimary = async () => {
      if (aheadMs > 0) return true;
      aheadMs = 3_000;
      return false;
    };
    const elapsed = () => performance.now() + aheadMs;
    const store = new ConfirmedStore(primary, {
      ...PATIENT,
      elapsed,
      majority: { takesForPrimary },
    });
    const door = await store.start().failing();
    await door.write(['SET', '{home}:one', 'before']);
    await replica.kill();

    expect(await door.write(['SET', '{home}:one', 'alone'])).toEqual(['OK']);
  });

  test('fails immediately, and changes nothing, when the management interface may not continue alone', async () => {
    const primary = await startServer();
    const replica = await startReplica(primary);
    const store = new ConfirmedStore(primary, { withoutReplica: 'refuse' }).start();
    const door = await store.failing();
    await door.write(['SET', '{home}:one', 'before']);
    replica.freeze();
    await expect(door.write(['SET', '{home}:one', 'during'])).rejects.toMatchObject({
      code: 'store-unavailable',
      detail: expect.stringMatching(REFUSAL),
    });

    // The first write, too, was refused unwritten if the loss was noticed before it.
    const written = await primary.redis.get('{home}:one');
    await expect(door.write(['SET', '{home}:one', 'after'])).rejects.toThrow(REFUSAL);

    expect(await primary.redis.get('{home}:one')).toBe(written);
    replica.thaw();
    await eventually(() => door.write(['SET', '{home}:one', 'again']));
    expect(await replica.redis.get('{home}:one')).toBe('again');
  });
});

describe('a connection that breaks between a write and its WAIT', () => {
  test('does not acknowledge what the replica lacks', async () => {
    const { primary, line, replica } = await startPair();
    const cutter = await WaitCutter.start(primary);
    const store = new ConfirmedStore(cutter, { withoutReplica: 'refuse' }).start();
    const door = store.patient();
    await door.write(['SET', '{home}:one', 'before']);
    line.swallow('down');
    cutter.isCutting = true;

    const write = door.write(['SET', '{home}:one', 'during']);
    await eventually(() => expect(cutter.cuts).toBe(1));

    expect(await isPending(primary, write)).toBe(true);
    expect(await primary.redis.get('{home}:one')).toBe('during');
    expect(await replica.redis.get('{home}:one')).toBe('before');
    line.mend();
    line.reset();
    expect(await write).toEqual(['OK']);
    expect(await replica.redis.get('{home}:one')).toBe('during');
  });

  test('does not acknowledge a repeated write, which changes nothing, before the replica has it', async () => {
    const { primary, line, replica } = await startPair();
    const cutter = await WaitCutter.start(primary);
    const store = new ConfirmedStore(cutter, { withoutReplica: 'refuse' }).start();
    const door = store.patient();
    await door.write(['SADD', '{home}:set', 'before']);
    line.swallow('down');
    cutter.isCutting = true;

    const write = door.write(['SADD', '{home}:set', 'during']);
    await eventually(() => expect(cutter.cuts).toBe(1));

    expect(await isPending(primary, write)).toBe(true);
    expect(await replica.redis.sismember('{home}:set', 'during')).toBe(0);
    line.mend();
    line.reset();
    // This is its second answer: the member already existed.
    expect(await write).toEqual([0]);
    expect(await replica.redis.sismember('{home}:set', 'during')).toBe(1);
  });

  test('sends the write to the new primary, which lacks it, after a failover in between', async () => {
    const { primary, line, replica } = await startPair();
    const second = await startReplicaOfReplica(replica);
    const cutter = await WaitCutter.start(primary);
    const door = new ConfirmedStore(cutter, PATIENT).start().patient();
    await door.write(['SET', '{home}:one', 'before']);
    line.swallow('down');
    cutter.isCutting = true;
    cutter.onCut = async () => {
      await primary.kill();
      await replica.redis.replicaof('NO', 'ONE');
      cutter.target = replica;
    };

    const write = door.write(['SET', '{home}:one', 'during']);
    await eventually(() => expect(cutter.cuts).toBe(1));
    await write;

    // The new primary has a replica that would have confirmed any WAIT.
    expect(await replica.redis.get('{home}:one')).toBe('during');
    await eventually(async () => expect(await second.redis.get('{home}:one')).toBe('during'));
  });

  test('fails the write of the management interface, which is sent once', async () => {
    const primary = await startServer();
    await startReplica(primary);
    const cutter = await WaitCutter.start(primary);
    const door = await new ConfirmedStore(cutter, PATIENT).start().failing();
    await door.write(['INCR', '{home}:count']);
    cutter.isCutting = true;

    await expect(door.write(['INCR', '{home}:count'])).rejects.toThrow();

    expect(cutter.cuts).toBe(1);
    expect(await primary.redis.get('{home}:count')).toBe('2');
  });
});
