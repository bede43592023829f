import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Lease, type LeaseState } from '../../../src/store/pair/lease.js';
import { Store } from '../../../src/store/store.js';
import { RedisProgram } from '../../harness/redis.js';
import { recordingLog } from '../embedded-support.js';

const PREFIX = '{home}:';
const KEY = `${PREFIX}lease`;

let server: RedisProgram;
let elapsedMs = 0;

beforeAll(async () => {
  server = await RedisProgram.start();
});

afterAll(async () => server.remove());

beforeEach(async () => {
  await server.redis.flushall();
  await server.redis.config('SET', 'maxmemory', 0);
});

function leaseOf(holder: string): Lease {
  const store = new Store(server.redis, PREFIX);
  const times = { lengthMs: 60_000, renewMs: 1_000, elapsed: () => elapsedMs };
  return new Lease({ store, holder, log: recordingLog().log, ...times });
}

/** Makes the lease expire by the store's clock. */
async function endLease(): Promise<void> {
  await server.redis.hset(KEY, 'untilMs', 1);
}

/** Asks every half second for this long. */
async function askFor(lease: Lease, durationMs: number): Promise<LeaseState> {
  let state = await lease.take();
  for (const untilMs = elapsedMs + durationMs; elapsedMs < untilMs && !state.isOurs; ) {
    elapsedMs += 500;
    state = await lease.take();
  }
  return state;
}

describe('the lease', () => {
  test('has one holder at a time, and another gateway is told which', async () => {
    const [first, second] = [leaseOf('first'), leaseOf('second')];

    expect(await first.take()).toEqual({ isOurs: true, epoch: 1, holder: 'first' });
    expect(await second.take()).toEqual({ isOurs: false, epoch: 1, holder: 'first' });
    expect(await first.renew(1)).toEqual({ isOurs: true, epoch: 1, holder: 'first' });
    expect(await server.redis.hget(KEY, 'token')).toBe('1 first');
  });

  test('passes to another with the next epoch when released', async () => {
    const [first, second] = [leaseOf('first'), leaseOf('second')];
    await first.take();
    await first.release(1);

    expect(await server.redis.hget(KEY, 'token')).toBe('');
    expect(await second.take()).toEqual({ isOurs: true, epoch: 2, holder: 'second' });
    expect(await first.renew(1)).toEqual({ isOurs: false, epoch: 2, holder: 'second' });
    await first.release(1);
    expect(await server.redis.hget(KEY, 'holder')).toBe('second');
  });

  test('passes to another on first request once it has ended by the store’s clock, and not before', async () => {
    await leaseOf('first').take();
    expect((await leaseOf('second').take()).isOurs).toBe(false);
    await endLease();

    expect(await leaseOf('third').take()).toEqual({ isOurs: true, epoch: 2, holder: 'third' });
  });

  test('stays with its holder when it has ended and nobody took it', async () => {
    const first = leaseOf('first');
    await first.take();
    await endLease();

    expect((await first.renew(1)).isOurs).toBe(true);
    expect((await leaseOf('second').take()).isOurs).toBe(false);
  });

  test('passes to another when no renewal was seen for its length, even if the store’s clock was set back', async () => {
    const [first, second] = [leaseOf('first'), leaseOf('second')];
    await first.take();
    await server.redis.hset(KEY, 'untilMs', Date.now() + 3_600_000);
    await second.take();
    await askFor(second, 40_000);
    await first.renew(1);
    expect((await askFor(second, 59_000)).isOurs).toBe(false);

    expect(await askFor(second, 2_000)).toEqual({ isOurs: true, epoch: 2, holder: 'second' });
  });

  test('stays with its holder when the store was silent for longer than its length', async () => {
    const [first, second] = [leaseOf('first'), leaseOf('second')];
    await first.take();
    await second.take();
    await endLease();
    elapsedMs += 100_000;

    expect((await second.take()).isOurs).toBe(false);
    expect((await askFor(second, 59_000)).isOurs).toBe(false);
    expect((await first.renew(1)).isOurs).toBe(true);
    expect((await askFor(second, 59_000)).isOurs).toBe(false);
  });

  test('is its holder’s own when the answer to its first question was lost', async () => {
    await leaseOf('first').take();

    expect(await leaseOf('first').take()).toEqual({ isOurs: true, epoch: 2, holder: 'first' });
  });

  test('stays with its holder when the store was emptied, or is back at an earlier state', async () => {
    const first = leaseOf('first');
    const second = leaseOf('second');
    await second.take();
    await second.release(1);
    const earlier = await server.redis.hgetall(KEY);
    await first.take();
    await server.redis.flushall();

    expect(await first.renew(2)).toEqual({ isOurs: true, epoch: 2, holder: 'first' });
    expect(await server.redis.hget(KEY, 'token')).toBe('2 first');

    await server.redis.hset(KEY, earlier);
    expect(await first.renew(2)).toEqual({ isOurs: true, epoch: 2, holder: 'first' });
  });

  test('has a greater epoch than any before, even if the store has lost the newest', async () => {
    const [first, second] = [leaseOf('first'), leaseOf('second')];
    await first.take();
    await first.release(1);
    await second.take();
    expect((await first.take()).epoch).toBe(2);
    await server.redis.flushall();

    expect((await first.take()).epoch).toBe(3);
  });

  test('is taken and renewed when the memory of the store is full', async () => {
    await server.redis.config('SET', 'maxmemory', 1);

    const first = leaseOf('first');
    expect((await first.take()).isOurs).toBe(true);
    expect((await first.renew(1)).isOurs).toBe(true);
    await first.release(1);
  });
});
