import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RedisPair } from './redis-pair.js';

describe('the store of a pair', () => {
  let pair: RedisPair;
  beforeAll(async () => {
    pair = await RedisPair.start({ isHurried: true });
  });
  afterAll(() => pair.remove());

  it('copies to the replica and takes over when told to', async () => {
    const [one, two] = pair.servers;
    expect(await pair.primary()).toBe(one);
    expect(await pair.replica()).toBe(two);
    await one.redis.set('key', 'value');
    expect(await one.redis.wait(1, 5000)).toBe(1);
    await pair.failover();
    expect(await pair.primary()).toBe(two);
    expect(await two.redis.get('key')).toBe('value');
    await pair.untilReplicated();
  });

  it('takes over when the primary is frozen, and back when the next one is killed', async () => {
    const [one, two] = pair.servers;
    two.freeze();
    await pair.untilTakenOver(two);
    expect(await pair.primary()).toBe(one);
    two.thaw();
    await pair.untilReplicated();
    await one.kill();
    await pair.untilTakenOver(one);
    expect(await two.redis.get('key')).toBe('value');
    await one.start();
    await pair.untilReplicated();
  });
});
