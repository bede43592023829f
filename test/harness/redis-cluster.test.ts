import { Cluster } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RedisCluster } from './redis-cluster.js';

describe('the store of many homes', () => {
  let cluster: RedisCluster;
  let client: Cluster;
  beforeAll(async () => {
    cluster = await RedisCluster.start();
    const nodes = cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port }));
    client = new Cluster(nodes, { redisOptions: { password: cluster.password } });
  });
  afterAll(async () => {
    client.disconnect();
    await cluster.remove();
  });

  it('keeps every key when a slot moves and when a primary is killed', async () => {
    for (let at = 0; at < 250; at++) await client.set(`{home}:${at}`, at);
    const slot = await cluster.slotOf('{home}:');
    const from = await cluster.primaryOf(slot);
    const to = await cluster.primaryOf(slot < 8000 ? 16_000 : 0);
    await cluster.moveSlot(slot, to);
    expect(await cluster.primaryOf(slot)).toBe(to);
    expect(await from.redis.dbsize()).toBe(0);
    await to.redis.wait(1, 5000);
    await to.kill();
    await cluster.untilTakenOver(to);
    expect(await client.get('{home}:249')).toBe('249');
    await to.start();
    await cluster.untilWhole();
  });
});
