import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RedisPair } from '../../harness/redis-pair.js';
import { eventually } from '../faults.js';
import { PairNetwork } from './network.js';

describe('the store of a pair on a network that can be cut', () => {
  const network = new PairNetwork();
  let store: RedisPair;
  beforeAll(async () => {
    store = await RedisPair.start({ isHurried: true, links: network });
  });
  afterAll(async () => {
    await store.remove();
    await network.close();
  });

  it('goes over the links only, each with a name', async () => {
    const isUsed = (from: string, to: string) =>
      eventually(() => expect(network.connectionsOf(from, to)).toBeGreaterThan(0));
    await isUsed('redis-2', 'redis-1');
    for (const sentinel of ['sentinel-1', 'sentinel-2', 'sentinel-3']) {
      await isUsed(sentinel, 'redis-1');
      await isUsed(sentinel, 'redis-2');
    }
    await isUsed('sentinel-1', 'sentinel-2');
    expect(network.connectionsOf('outside', 'redis-1')).toBe(0);
  });

  it('keeps writes from the replica when the link between both is cut, and makes up for it', async () => {
    const [one] = store.servers;
    network.cut('redis-2', 'redis-1', 'silent');
    await one.redis.set('key', 'value');
    expect(await one.redis.wait(1, 200)).toBe(0);
    network.mend('redis-2', 'redis-1');
    expect(await one.redis.wait(1, 10_000)).toBe(1);
  });

  it('takes over when no Sentinel reaches the primary, and has one primary again when they do', async () => {
    const [one, two] = store.servers;
    const sentinels = ['sentinel-1', 'sentinel-2', 'sentinel-3'];
    for (const sentinel of sentinels) network.cut(sentinel, 'redis-1', 'silent');
    await store.untilTakenOver(one);
    for (const sentinel of sentinels) network.mend(sentinel, 'redis-1');
    await store.untilReplicated();
    await eventually(async () => expect(await one.info('replication', 'role')).toBe('slave'));
    expect(await two.info('replication', 'role')).toBe('master');
  });
});
