import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { z } from 'zod';
import { RECORD_KINDS } from '../../../src/domain/site.js';
import { keysOf } from '../../../src/store/keys.js';
import type { TestDevice } from '../../harness/clients/api.js';
import { connectDevice, Subscriber } from '../../harness/clients/mqtt-clients.js';
import { faultTextsIn } from '../../harness/described/fault-texts.js';
import { eventually } from '../../harness/eventually.js';
import { GatewayHere } from '../../harness/gateway/gateway-here.js';
import { GatewayProcess } from '../../harness/gateway/gateway-process.js';
import { Home } from '../../harness/home.js';
import { accountOf } from '../../harness/metrics.js';
import { unusedPort } from '../../harness/servers/unused-port.js';
import { becomesReady, OwnRedis, saysReady } from './faults.js';

/** The counter of alarms of the site in the default configuration. */
const SEQUENCE = '{site}:sequence:alarms';

const events = z.object({ events: z.array(z.unknown()) });

/** Clean-ups, run in reverse order. */
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function homeWith(environment: Record<string, string> = {}): Promise<Home> {
  const gateway = await GatewayHere.start(environment);
  cleanups.push(() => gateway.remove());
  return Home.at(gateway);
}

/** Records alarms of a device, and waits until the gateway has noted their number. Resolves to their ids. */
async function recordAlarms(
  home: Home,
  count: number,
  total = count,
  given?: TestDevice,
): Promise<string[]> {
  const device = given ?? (await home.device());
  const sensor = await connectDevice(home.gateway, device);
  const ids = Array.from({ length: count }, () => randomUUID());
  for (const id of ids) {
    const alarm = JSON.stringify({ kind: 'fall', id });
    await sensor.publishAsync(`devices/${device.id}/alarms`, alarm, { qos: 1 });
  }
  await sensor.endAsync();
  await eventually(async () => {
    const witness = await readFile(join(home.gateway.dataDir, 'store-witness.json'), 'utf8');
    expect(witness).toContain(`"newestAlarm":${total},`);
  });
  return ids;
}

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

async function acknowledge(home: Home): Promise<void> {
  const { status } = await home.api.request('POST', '/faults/store-lost-data/acknowledge');
  expect(status).toBe(204);
  await becomesReady(home);
}

async function homeOnOwnStore(): Promise<{ home: Home; store: OwnRedis }> {
  const store = await OwnRedis.create();
  cleanups.push(() => store.remove());
  await store.start();
  return { home: await homeWith({ GATEWAY_REDIS_URL: store.url }), store };
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

it.each(['alarm-groups:*', 'alarms:*'])(
  'lists an alarm that arrives after the keys %s were lost',
  async (pattern) => {
    const { home, store } = await homeOnOwnStore();
    const device = await home.device();
    await recordAlarms(home, 2, 2, device);
    await store.redis.del(await store.redis.keys(`{site}:${pattern}`));
    await eventually(async () => {
      expect(await saysReady(home)).toMatch(/lost \d index(es)? of the history/);
    });
    await recordAlarms(home, 1, 3, device);
    const page = async (path: string) =>
      events.parse(await home.api.json('GET', `${path}?order=desc`)).events.length;
    expect(await page(`${home.path}/alarms`)).toBeGreaterThan(0);
    expect(await page(`${home.path}/devices/${device.id}/alarms`)).toBeGreaterThan(0);
    await acknowledge(home);
  },
);

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

it('reports a Sentinel in one line when redis.url has its port', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-sentinel-'));
  cleanups.push(() => rmSync(directory, { recursive: true, force: true }));
  const port = await unusedPort();
  const file = join(directory, 'sentinel.conf');
  writeFileSync(file, `port ${port}\nbind 127.0.0.1\n`);
  const sentinel = spawn('redis-server', [file, '--sentinel'], { stdio: 'ignore' });
  cleanups.push(async () => {
    sentinel.kill('SIGKILL');
    await once(sentinel, 'exit');
  });
  const gateway = await GatewayProcess.create({ GATEWAY_REDIS_URL: `redis://127.0.0.1:${port}` });
  cleanups.push(() => rmSync(gateway.dataDir, { recursive: true, force: true }));
  await expect(gateway.start()).rejects.toThrow('the gateway ended with 1');
  const last = gateway.lines.at(-1) ?? '';
  expect(last).toMatch(/failed to start the gateway: the store cannot be used: it is a Sentinel/);
  expect(last).not.toContain('stack');
});

it('holds back in order the alarms of a device whose key was overwritten, and no others', async () => {
  const { home, store } = await homeOnOwnStore();
  const [broken, other] = [await home.device(), await home.device()];
  const key = keysOf('site').deviceAlarms(home.locationId, broken.id);
  await store.redis.set(key, 'text');
  const sensor = await connectDevice(home.gateway, broken);
  const detectedAt = (at: number) => new Date(Date.UTC(2026, 0, 1) + at).toISOString();
  const publishes = [1, 2, 3].map((at) => {
    const alarm = JSON.stringify({ kind: 'fall', id: randomUUID(), detectedAt: detectedAt(at) });
    return sensor.publishAsync(`devices/${broken.id}/alarms`, alarm, { qos: 1 });
  });
  await recordAlarms(home, 2, 2, other);
  await eventually(async () => {
    const answer = await home.api.request('GET', '/readyz');
    expect(await answer.json()).toMatchObject({
      faults: [{ code: 'store-refusing', stops: true, subject: { type: 'device', id: broken.id } }],
    });
  });
  await store.redis.del(key);
  await Promise.all(publishes);
  await becomesReady(home);
  const history = z.object({ events: z.array(z.object({ detectedAt: z.string() })) });
  const path = `${home.path}/devices/${broken.id}/alarms?order=asc`;
  const page = history.parse(await home.api.json('GET', path));
  expect(page.events.map((event) => event.detectedAt)).toEqual([1, 2, 3].map(detectedAt));
  const fields = await store.redis.xrange(keysOf('site').history, '-', '+');
  expect(fields).toHaveLength(5);
  await sensor.endAsync();
});
