import { closeSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../../former/eventually.js';
import { GatewayHere } from '../../former/gateway/gateway-here.js';
import { GatewayProcess } from '../../former/gateway/gateway-process.js';
import { Home } from '../../former/home.js';
import { RemoteStore } from '../../former/servers/remote-store.js';
import { Store } from '../../former/stored/store.js';
import { holdStoreDown } from '../../former/stored/store-process.js';
import { becomesReady, Columns, saysOverHttp, saysReady, Watcher } from './faults.js';
import { OwnRedis } from './own-redis.js';

/** Clean-ups, run in reverse order. */
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function homeOf(environment?: Record<string, string>): Promise<Home> {
  const gateway = await GatewayHere.start(environment);
  cleanups.push(() => gateway.remove());
  return Home.at(gateway);
}

describe('guarantee 4: a store that does not answer', () => {
  it('delays acknowledgements only, at each QoS and for each subscriber; afterwards everything is stored once', async () => {
    const home = await homeOf();
    const [some, others] = [await Columns.devices(home), await Columns.devices(home)];
    const columns = await Columns.of(home);
    const store = await Store.of(columns.home.gateway);
    store.freeze();
    cleanups.push(() => store.thaw());

    await columns.seeLive();
    await saysOverHttp(columns.home, columns.anyDevice, /store does not answer/);
    for (const watcher of columns.watchers) await watcher.seesFault(/store does not answer/);
    // New subscribers are served too, with and without a persistent session.
    const { watchers } = columns;
    const all = [
      columns,
      await Columns.with(home, some, watchers, true),
      await Columns.with(home, others, watchers, false),
    ];
    for (let round = 0; round < 2; round++) for (const each of all) await each.seeLive();
    for (const each of all) await each.areServed();

    store.thaw();
    for (const each of all) await each.loseNothing();
    await becomesReady(columns.home);
    store.close();
  });
});

describe('guarantee 4: a slow store', () => {
  it('is reported, and delays acknowledgements only, at each QoS and for each subscriber', async () => {
    const remote = await RemoteStore.start();
    cleanups.push(() => remote.remove());
    const columns = await Columns.of(await homeOf({ GATEWAY_REDIS_URL: remote.url }));
    remote.slowDown(300);
    for (const watcher of columns.watchers) await watcher.seesFault(/store is slow/);
    // The gateway keeps working.
    expect((await columns.home.api.request('GET', '/readyz')).status).toBe(200);
    expect(await saysReady(columns.home)).toContain('The store is slow.');
    await columns.see();
    await columns.areStored();
    // From now on alarms go out before they are stored.
    remote.slowDown(700);
    await columns.seeLiveFirst();
    await columns.areStored();
    await columns.areServed();
    remote.slowDown(0);
    await columns.loseNothing();
    await becomesReady(columns.home);
  });
});

describe('a killed store', () => {
  it('is restarted, and nothing is lost meanwhile at any QoS, for any subscriber', async () => {
    const columns = await Columns.of(await homeOf());
    columns.alarm();
    await columns.loseNothing();
    const lock = holdStoreDown(columns.home.gateway);

    await columns.seeLive();
    await saysOverHttp(columns.home, columns.anyDevice, /store is unreachable/);
    for (const watcher of columns.watchers) await watcher.seesFault(/store is unreachable/);
    await columns.seeLive();
    await columns.areServed();

    closeSync(lock);
    await columns.loseNothing();
    await becomesReady(columns.home);
  });
});

describe('a store that is not up yet', () => {
  it('is waited for, which is logged; nobody can connect, and the durable subscriber keeps its backlog', async () => {
    const redis = await ownRedis();
    await redis.start();
    const home = await homeOf({ GATEWAY_REDIS_URL: redis.url });
    const columns = await Columns.of(home);
    for (const { subscriber } of columns.watchers) await subscriber.end();
    columns.alarm();
    await columns.areStored();
    await home.gateway.stop();
    await redis.kill();
    const before = home.gateway.lines.length;

    const ready = home.gateway.start();
    // The promise is checked below; until then it must not count as unhandled.
    ready.catch(() => undefined);
    const log = () => home.gateway.lines.slice(before).join('\n');
    await eventually(() => expect(log()).toContain('failed to reach the store'));
    await expect(Watcher.connect(home, 'live')).rejects.toThrow('ECONNREFUSED');
    await redis.start();
    await ready;
    await becomesReady(home);
    const [durable, live] = [await Watcher.back(home), await Watcher.connect(home, 'live')];
    for (const sensor of columns.sensors) await durable.seesStored(sensor);
    for (const { device } of columns.sensors) expect(live.storedOf(device)).toEqual([]);
    const again = await Columns.of(home);
    again.alarm();
    await again.loseNothing();
  });

  it('does not prevent the gateway from stopping', async () => {
    const redis = await ownRedis();
    const gateway = await GatewayProcess.create({ GATEWAY_REDIS_URL: redis.url });
    const ended = expect(gateway.start()).rejects.toThrow('the gateway ended with 0');
    await eventually(() => expect(gateway.lines.join('\n')).toContain('failed to reach the store'));
    expect(await gateway.stop()).toBe(0);
    await ended;
  });
});

async function ownRedis(): Promise<OwnRedis> {
  const redis = await OwnRedis.create();
  cleanups.push(() => redis.remove());
  return redis;
}

describe('a full store', () => {
  it('acknowledges nothing and disconnects nobody until there is room again, at any QoS', async () => {
    const redis = await ownRedis();
    await redis.start();
    const columns = await Columns.of(await homeOf({ GATEWAY_REDIS_URL: redis.url }));
    columns.alarm();
    await columns.loseNothing();
    await redis.redis.config('SET', 'maxmemory', '1');

    for (let round = 0; round < 3; round++) await columns.seeLive();
    await saysOverHttp(columns.home, columns.anyDevice, /OOM/);
    for (const watcher of columns.watchers) await watcher.seesFault(/OOM/);
    await columns.areServed();

    await redis.redis.config('SET', 'maxmemory', '0');
    await columns.loseNothing();
    await becomesReady(columns.home);
  });

  it('keeps the order when it alternates between full and not full, at each QoS', async () => {
    const redis = await ownRedis();
    await redis.start();
    const columns = await Columns.of(await homeOf({ GATEWAY_REDIS_URL: redis.url }));
    for (let round = 0; round < 50; round++) {
      for (let alarm = 0; alarm < 2; alarm++) columns.alarm();
      await redis.redis.config('SET', 'maxmemory', '1');
      for (let alarm = 0; alarm < 2; alarm++) columns.alarm();
      await redis.redis.config('SET', 'maxmemory', '0');
    }
    await columns.loseNothing();
  });
});
