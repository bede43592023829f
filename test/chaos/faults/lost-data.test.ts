import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { RECORD_KINDS } from '../../../src/domain/site.js';
import { keysOf } from '../../../src/store/keys.js';
import { Subscriber } from '../../former/clients/mqtt-clients.js';
import { eventually } from '../../former/eventually.js';
import type { Home } from '../../former/home.js';
import { accountOf } from '../../former/metrics.js';
import { faultTextsIn } from '../../harness/described/fault-texts.js';
import { becomesReady } from './faults.js';
import {
  acknowledge,
  cleanups,
  events,
  homeOnOwnStore,
  homeWith,
  recordAlarms,
} from './losing-home.js';
import { OwnRedis } from './own-redis.js';

/** The counter of alarms of the site in the default configuration. */
const SEQUENCE = '{site}:sequence:alarms';

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Resolves when the fault says that this is lost. */
async function saysLost(home: Home, lost: string | RegExp): Promise<void> {
  await eventually(async () => {
    const faults = faultTextsIn(await home.api.json('GET', '/readyz')).join('\n');
    const [, said = ''] = /The store has lost (.*), noticed at /.exec(faults) ?? [];
    if (typeof lost === 'string') expect(said).toBe(lost);
    else expect(said).toMatch(lost);
  });
}

/** Checks that the fault stays, across a restart, until it is acknowledged. */
async function isLostUntilSeen(home: Home, lost: string | RegExp): Promise<void> {
  await saysLost(home, lost);
  await home.gateway.stop();
  await home.gateway.start();
  await saysLost(home, lost);
  await acknowledge(home);
  await home.gateway.stop();
  await home.gateway.start();
  await becomesReady(home);
}

it('reports the loss and serves when the append-only directory is missing at start', async () => {
  const home = await homeWith();
  await recordAlarms(home, 7);
  await home.gateway.stop();
  await rm(join(home.gateway.dataDir, 'redis', 'appendonlydir'), { recursive: true });
  await home.gateway.start();
  const records = '1 location, 1 device, 2 access tokens, 4 changes of the site';
  const lost = `everything stored, ${records}, up to 7 alarms (numbers 1 to 7)`;
  await isLostUntilSeen(home, lost);
  expect(await home.api.createLocation()).toBeDefined();
});

it('reports after a restart how many records are gone', async () => {
  const { home, store } = await homeOnOwnStore();
  await recordAlarms(home, 1);
  await home.gateway.stop();
  const keys = keysOf('site');
  for (const kind of RECORD_KINDS) await store.redis.del(keys.siteRecords(kind));
  await home.gateway.start();
  await isLostUntilSeen(home, '1 location, 1 device, 2 access tokens');
});

it('keeps the queue of a token whose record is gone, until the loss is acknowledged', async () => {
  const { home, store } = await homeOnOwnStore();
  const session = { clientId: 'away', clean: false };
  const away = await Subscriber.connect(home.gateway, home.viewer, session);
  await away.subscribe(`care-homes/${home.locationId}/devices/+/alarms/#`);
  await away.end();
  await recordAlarms(home, 5);
  await home.gateway.stop();
  const keys = RECORD_KINDS.map((kind) => keysOf('site').siteRecords(kind));
  const dumps = await Promise.all(keys.map((key) => store.redis.dumpBuffer(key)));
  await store.redis.del(...keys);
  await home.gateway.start();
  await saysLost(home, '1 location, 1 device, 2 access tokens');
  await home.gateway.stop();
  for (const [at, key] of keys.entries()) {
    const dump = dumps[at];
    if (dump) await store.redis.restore(key, 0, dump);
  }
  await home.gateway.start();
  const back = await Subscriber.connect(home.gateway, home.viewer, session);
  await back.untilRecords(5);
  await back.end();
});

it('reports how many keys the server has evicted, and does not repeat it once acknowledged', async () => {
  const { home, store } = await homeOnOwnStore();
  await recordAlarms(home, 1);
  await home.gateway.stop();
  const set = (name: string, value: string) => store.redis.config('SET', name, value);
  await set('maxmemory-policy', 'allkeys-lru');
  await set('maxmemory', '1');
  await eventually(async () => expect(await store.redis.dbsize()).toBe(0));
  await set('maxmemory', '0');
  await set('maxmemory-policy', 'noeviction');
  await home.gateway.start();
  await isLostUntilSeen(
    home,
    /everything stored, 1 location, .* \d+ keys that the server evicted,/,
  );
});

it('an absent subscriber is not owed what the store has lost, and the account shows it', async () => {
  const { home, store } = await homeOnOwnStore();
  const session = { clientId: 'away', clean: false };
  const away = await Subscriber.connect(home.gateway, home.viewer, session);
  await away.subscribe(`care-homes/${home.locationId}/devices/+/alarms/#`);
  await away.end();
  await recordAlarms(home, 50);
  await home.gateway.stop();
  await store.redis.del('{site}:history');
  await home.gateway.start();
  await saysLost(home, 'up to 50 alarms (numbers 1 to 50)');
  const back = await Subscriber.connect(home.gateway, home.viewer, session);
  const lost = { accepted: 50, delivered: 0, queued: 0, expired: 0, dropped: 50 };
  await expect.poll(() => accountOf(home.gateway, 'away')).toEqual(lost);
  const metrics = await (await fetch(`${home.gateway.httpUrl}/metrics`)).text();
  expect(metrics).toMatch(
    /dropped_by_reason_total\{consumer="away",log="alarms",reason="lost"\} 50\n/,
  );
  await saysLost(home, '50 alarms of backlogs, up to 50 alarms (numbers 1 to 50)');
  await back.end();
});

it("reports what is lost when the operator's store is flushed while running", async () => {
  const { home, store } = await homeOnOwnStore();
  await recordAlarms(home, 5);
  await store.redis.flushall();
  const records = '1 location, 1 device, 2 access tokens, 4 changes of the site';
  await isLostUntilSeen(home, `everything stored, ${records}, up to 5 alarms (numbers 1 to 5)`);
});

it('acknowledges alarms again after their counter was set back', async () => {
  const { home, store } = await homeOnOwnStore();
  await recordAlarms(home, 5);
  await store.redis.set(SEQUENCE, 1);
  await recordAlarms(home, 2, 7);
  await becomesReady(home);
});

it('guarantee 3: reports the alarms that the store lost by becoming a replica of an older one, and records those still in memory again, in order', async () => {
  const [store, older] = [await OwnRedis.create(), await OwnRedis.create()];
  for (const one of [store, older]) {
    cleanups.push(() => one.remove());
    await one.start();
    await one.redis.config('SET', 'repl-diskless-sync-delay', 0);
  }
  const home = await homeWith({ GATEWAY_REDIS_URL: store.url });
  const session = { clientId: 'absent', clean: false };
  const absent = await Subscriber.connect(home.gateway, home.viewer, session);
  await absent.subscribe(`care-homes/${home.locationId}/devices/+/alarms/#`);
  await absent.end();
  await older.redis.replicaof('127.0.0.1', store.port);
  const device = await home.device();
  const kept = await recordAlarms(home, 3, 3, device);
  await eventually(async () => expect(await older.redis.get(SEQUENCE)).toBe('3'));
  await older.redis.replicaof('NO', 'ONE');
  await home.device();
  const lost = await recordAlarms(home, 4, 7, device);
  await store.redis.replicaof('127.0.0.1', older.port);
  await eventually(async () => expect(await store.redis.get(SEQUENCE)).toBe('3'));
  await store.redis.replicaof('NO', 'ONE');
  await saysLost(home, '1 device, 1 change of the site, up to 4 alarms (numbers 4 to 7)');
  // The first alarm after the loss shows how far back the store is.
  const added = await recordAlarms(home, 1, 8, device);
  await eventually(async () => {
    const page = await home.api.json('GET', `/care-homes/${home.locationId}/alarms`);
    expect(events.parse(page).events).toHaveLength(8);
  });
  const back = await Subscriber.connect(home.gateway, home.viewer, session);
  const ids = () => [...new Set(back.messages().map(({ id }) => id))];
  await back.until(() => ids().length === 8);
  expect(ids()).toEqual([...kept, ...lost, ...added]);
  await back.end();
});
