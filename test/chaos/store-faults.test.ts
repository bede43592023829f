import { closeSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { lockFile } from '../../src/store/file-lock.js';
import { Home } from '../broker/home.js';
import { GatewayProcess } from '../harness/gateway-process.js';
import { Store } from '../harness/store.js';
import {
  becomesReady,
  eventually,
  nothingIsLost,
  OwnRedis,
  Sensor,
  saysOverHttp,
  Watcher,
} from './faults.js';
import { storeProcessId } from './victim.js';

/** In the order in which they are to be undone: the last one first. */
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function homeOf(environment?: Record<string, string>): Promise<Home> {
  const gateway = await GatewayProcess.start(environment);
  cleanups.push(() => gateway.remove());
  return Home.at(gateway);
}

describe('guarantee 4: a store that does not answer', () => {
  it('holds up the acknowledgement only; afterwards everything is stored once', async () => {
    const home = await homeOf();
    const [one, other] = [await home.device(), await home.device()];
    const sensor = await Sensor.connect(home, one);
    const watcher = await Watcher.connect(home);
    const store = await Store.of(home.gateway);
    store.freeze();
    cleanups.push(() => store.thaw());

    await watcher.seesLive(sensor);
    await saysOverHttp(home, one, /store does not answer/);
    await watcher.seesFault(/store does not answer/);
    // Whoever comes now is served as well, with and without a session that persists.
    const late = await Sensor.connect(home, other, false);
    await watcher.seesLive(late);
    await watcher.seesLive(sensor);
    await sensor.isServed();
    await late.isServed();

    store.thaw();
    await nothingIsLost(home, sensor, watcher);
    await nothingIsLost(home, late, watcher);
    await becomesReady(home);
    store.close();
  });
});

describe('a store that is killed', () => {
  it('is started again, and nothing is lost meanwhile', async () => {
    const home = await homeOf();
    const device = await home.device();
    const sensor = await Sensor.connect(home, device);
    const watcher = await Watcher.connect(home);
    sensor.alarm();
    await sensor.allAcknowledged();
    const unlock = keepDown(home.gateway);

    await watcher.seesLive(sensor);
    await saysOverHttp(home, device, /store is unreachable/);
    await watcher.seesFault(/store is unreachable/);
    await watcher.seesLive(sensor);
    await sensor.isServed();

    unlock();
    await nothingIsLost(home, sensor, watcher);
    await becomesReady(home);
  });
});

/** Kills the store, and holds its lock in its stead until the returned function is called. */
function keepDown({ dataDir }: GatewayProcess): () => void {
  const processId = storeProcessId(dataDir);
  if (processId === undefined) throw new Error('no store runs');
  process.kill(processId, 'SIGKILL');
  const file = join(dataDir, 'redis', 'redis.lock');
  for (;;) {
    // Free as soon as the killed process is gone; the gateway waits a moment before it tries.
    const lock = lockFile(file);
    if (lock !== undefined) return () => closeSync(lock);
  }
}

describe('a store that is not there yet', () => {
  it('is waited for, which the log says', async () => {
    const redis = await OwnRedis.create();
    cleanups.push(() => redis.remove());
    const gateway = await GatewayProcess.create({ GATEWAY_REDIS_URL: redis.url });
    cleanups.push(() => gateway.remove());
    const ready = gateway.start();
    // It is looked at below; until then it must not count as unhandled.
    ready.catch(() => undefined);
    await eventually(() => expect(gateway.lines.join('\n')).toContain('the store is unreachable'));
    expect(gateway.isRunning).toBe(true);
    await redis.start();
    await ready;
    const home = await Home.at(gateway);
    await becomesReady(home);
    const sensor = await Sensor.connect(home, await home.device());
    const watcher = await Watcher.connect(home);
    sensor.alarm();
    await nothingIsLost(home, sensor, watcher);
  });

  it('does not keep the gateway from stopping', async () => {
    const redis = await OwnRedis.create();
    cleanups.push(() => redis.remove());
    const gateway = await GatewayProcess.create({ GATEWAY_REDIS_URL: redis.url });
    const ended = expect(gateway.start()).rejects.toThrow('the gateway ended with 0');
    await eventually(() => expect(gateway.lines.join('\n')).toContain('the store is unreachable'));
    expect(await gateway.stop()).toBe(0);
    await ended;
  });
});

describe('a full store', () => {
  it('acknowledges nothing and disconnects nobody until there is room again', async () => {
    const redis = await OwnRedis.create();
    cleanups.push(() => redis.remove());
    await redis.start();
    const home = await homeOf({ GATEWAY_REDIS_URL: redis.url });
    const [one, other] = [await home.device(), await home.device()];
    const [sensor, second] = [await Sensor.connect(home, one), await Sensor.connect(home, other)];
    const watcher = await Watcher.connect(home);
    sensor.alarm();
    await sensor.allAcknowledged();
    await redis.redis.config('SET', 'maxmemory', '1');

    for (let round = 0; round < 3; round++) {
      await watcher.seesLive(sensor);
      await watcher.seesLive(second);
    }
    await saysOverHttp(home, one, /OOM/);
    await watcher.seesFault(/OOM/);
    await sensor.isServed();
    await second.isServed();

    await redis.redis.config('SET', 'maxmemory', '0');
    await nothingIsLost(home, sensor, watcher);
    await nothingIsLost(home, second, watcher);
    await becomesReady(home);
  });

  it('that has room and has none in turn keeps the order', async () => {
    const redis = await OwnRedis.create();
    cleanups.push(() => redis.remove());
    await redis.start();
    const home = await homeOf({ GATEWAY_REDIS_URL: redis.url });
    const sensor = await Sensor.connect(home, await home.device());
    const watcher = await Watcher.connect(home);
    for (let round = 0; round < 300; round++) {
      for (let alarm = 0; alarm < 3; alarm++) sensor.alarm();
      await redis.redis.config('SET', 'maxmemory', '1');
      for (let alarm = 0; alarm < 3; alarm++) sensor.alarm();
      await redis.redis.config('SET', 'maxmemory', '0');
    }
    await sensor.allAcknowledged();
    await nothingIsLost(home, sensor, watcher);
  });
});
