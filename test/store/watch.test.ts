import { afterAll, beforeAll, expect, it } from 'vitest';
import { Health } from '../../src/site/health/health.js';
import { StoreHeadroom } from '../../src/site/health/store-headroom.js';
import { defaultMaxMemoryBytes } from '../../src/store/embedded/embedded-redis.js';
import { StoreWatch } from '../../src/store/server/watch.js';
import { Store } from '../../src/store/store.js';
import { faultTexts } from '../harness/described/fault-texts.js';
import { RedisProgram } from '../harness/redis.js';
import { recordingLog } from './embedded-support.js';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

let server: RedisProgram;
beforeAll(async () => {
  server = await RedisProgram.start();
});
afterAll(() => server.remove());

function monitored() {
  const [health, headroom, { log, messages }] = [new Health(), new StoreHeadroom(), recordingLog()];
  health.started();
  const monitor = new StoreWatch({
    store: new Store(server.redis, '{site}:'),
    health,
    headroom,
    log,
    elapsed: () => performance.now(),
  });
  /** Checks the store while this fraction of its limit is used. */
  const at = async (part: number) => {
    const info = await server.redis.info('memory');
    const usedBytes = Number(/^used_memory:(\d+)/m.exec(info)?.[1]);
    await server.redis.config('SET', 'maxmemory', Math.round(usedBytes / part));
    await monitor.check();
    return { faults: faultTexts(health.shown()), ready: health.ready() };
  };
  return { at, headroom, health, monitor, messages };
}

it('asks twice a second, and more often when a flood is closer to the limit', async () => {
  const { at, monitor } = monitored();
  await at(0.4);
  expect(monitor.pauseMs).toBe(500);
  await at(0.6);
  expect(monitor.pauseMs).toBe(100);
});

it('reports how full the store is from 80 % on, and stays ready', async () => {
  const { at, monitor } = monitored();
  expect(await at(0.7)).toEqual({ faults: [], ready: true });
  const { faults, ready } = await at(0.83);
  expect(faults).toEqual([
    expect.stringMatching(
      /^The store's memory is 8[234] % full; from 90 % on only alarms are stored\.$/,
    ),
  ]);
  expect(ready).toBe(true);
  expect(monitor.memory.usedBytes / monitor.memory.maxBytes).toBeCloseTo(0.83, 1);
  expect(await at(0.7)).toEqual({ faults: [], ready: true });
});

it('keeps the last tenth for alarms, and reports when nothing is stored any more', async () => {
  const { at, headroom, monitor, messages } = monitored();
  await at(0.85);
  expect(headroom.takes('retained')).toBe(true);
  expect(monitor.leftForOthers).toBeGreaterThan(0);

  const short = await at(0.93);
  expect(short.faults[0]).toMatch(/9[234] % full, and only alarms are stored\./);
  expect(headroom.takes('retained')).toBe(false);
  expect(headroom.takes('denial')).toBe(false);
  expect(headroom.isFull).toBe(false);
  expect(monitor.leftForOthers).toBeLessThan(0);

  const full = await at(1.2);
  expect(full.faults[0]).toMatch(/100 % full, and nothing is stored\./);
  expect(headroom.isFull).toBe(true);
  expect(headroom.takes('retained')).toBe(false);

  await at(0.5);
  expect(headroom.isFull).toBe(false);
  expect(headroom.takes('retained')).toBe(true);
  expect(Object.fromEntries(headroom.notStored)).toEqual({ retained: 2, denial: 1 });
  expect(messages.filter((line) => line.includes('headroom of the store'))).toHaveLength(3);
});

it('accepts no more between two readings than the last one left', async () => {
  const { at, headroom, monitor } = monitored();
  await at(0.7);
  const bytes = 0.6 * monitor.leftForOthers;
  expect(headroom.takes('retained', bytes)).toBe(true);
  expect(headroom.takes('retained', bytes)).toBe(false);
  expect(headroom.hasRoom(bytes)).toBe(false);

  await at(0.7);
  expect(headroom.takes('retained', bytes)).toBe(true);
});

it('does not monitor a server without a limit', async () => {
  const { health, monitor, headroom } = monitored();
  await server.redis.config('SET', 'maxmemory', 0);
  await monitor.check();
  expect(faultTexts(health.shown())).toEqual([]);
  expect(headroom.hasRoom()).toBe(true);
  expect(monitor.leftForOthers).toBe(Number.POSITIVE_INFINITY);
});

it('gives the embedded store half of the memory that the gateway leaves', () => {
  expect(defaultMaxMemoryBytes(4.25 * GIB)).toBe(2 * GIB);
  expect(defaultMaxMemoryBytes(1.25 * GIB)).toBe(512 * MIB);
  expect(defaultMaxMemoryBytes(128 * MIB)).toBe(64 * MIB);
  expect(defaultMaxMemoryBytes()).toBeGreaterThan(64 * MIB);
});
