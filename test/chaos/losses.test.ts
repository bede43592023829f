import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { z } from 'zod';
import { eventually } from '../harness/eventually.js';
import { GatewayHere } from '../harness/gateway-here.js';
import { GatewayProcess } from '../harness/gateway-process.js';
import { Home } from '../harness/home.js';
import { connectDevice, Subscriber } from '../harness/mqtt-clients.js';
import { storeProcessId } from '../harness/store-process.js';
import { unusedPort } from '../harness/unused-port.js';
import { becomesReady, OwnRedis, saysReady } from './faults.js';

/** The counter of alarms, of the site in the default configuration. */
const SEQUENCE = '{site}:sequence:alarms';

const losses = z.array(
  z.looseObject({
    id: z.string(),
    what: z.string(),
    from: z.number().nullable(),
    to: z.number().nullable(),
    acknowledgedAt: z.string().nullable(),
  }),
);

const events = z.object({ events: z.array(z.unknown()) });

/** Clean-ups, undone from the last one on. */
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function homeWith(environment: Record<string, string> = {}): Promise<Home> {
  const gateway = await GatewayHere.start(environment);
  cleanups.push(() => gateway.remove());
  return Home.at(gateway);
}

/** Records alarms of a device, and waits until the gateway has noted their number. */
async function recordAlarms(home: Home, count: number, total = count): Promise<void> {
  const device = await home.device();
  const sensor = await connectDevice(home.gateway, device);
  for (let sent = 0; sent < count; sent++) {
    const alarm = JSON.stringify({ kind: 'fall', id: randomUUID() });
    await sensor.publishAsync(`devices/${device.id}/alarms`, alarm, { qos: 1 });
  }
  await sensor.endAsync();
  await eventually(async () => {
    const witness = await readFile(join(home.gateway.dataDir, 'store-witness.json'), 'utf8');
    expect(witness).toContain(`"alarms":${total},`);
  });
}

/** Checks that losses are listed and are faults until acknowledged, also after a restart. */
async function areFaultsUntilSeen(home: Home, alarms: number): Promise<void> {
  const list = async () => losses.parse(await home.api.json('GET', '/losses'));
  await eventually(async () => expect((await list()).length).toBeGreaterThanOrEqual(2));
  expect(await list()).toContainEqual(
    expect.objectContaining({ what: 'alarms', from: 1, to: alarms, acknowledgedAt: null }),
  );
  expect(await saysReady(home)).toMatch(new RegExp(`lost up to ${alarms} alarms .numbers 1 to`));
  await home.gateway.stop();
  await home.gateway.start();
  expect(await saysReady(home)).toMatch(new RegExp(`lost up to ${alarms} alarms .numbers 1 to`));
  for (const { id } of await list()) await home.api.json('POST', `/losses/${id}/acknowledge`);
  await becomesReady(home);
  for (const { acknowledgedAt } of await list()) expect(acknowledgedAt).not.toBeNull();
}

it('reports the loss and serves when the append-only directory is missing at start', async () => {
  const home = await homeWith();
  await recordAlarms(home, 7);
  await home.gateway.stop();
  await rm(join(home.gateway.dataDir, 'redis', 'appendonlydir'), { recursive: true });
  await home.gateway.start();
  await areFaultsUntilSeen(home, 7);
  expect(await home.api.createLocation()).toBeDefined();
});

it("reports the loss when the operator's store is flushed while running", async () => {
  const store = await OwnRedis.create();
  cleanups.push(() => store.remove());
  await store.start();
  const home = await homeWith({ GATEWAY_REDIS_URL: store.url });
  await recordAlarms(home, 5);
  await store.redis.flushall();
  await areFaultsUntilSeen(home, 5);
});

it('loses nothing when the append-only files are removed while running and both are killed', async () => {
  const home = await Home.startProcess();
  const { gateway } = home;
  cleanups.push(() => gateway.remove());
  await recordAlarms(home, 3);
  await rm(join(gateway.dataDir, 'redis', 'appendonlydir'), { recursive: true });
  await gateway.logged('files of the store are missing or cut short');
  await becomesReady(home);
  await recordAlarms(home, 2, 5);
  const processId = storeProcessId(gateway.dataDir);
  const dead = gateway.kill();
  if (processId !== undefined) process.kill(processId, 'SIGKILL');
  await dead;
  await gateway.start();
  expect(await home.api.json('GET', '/losses')).toEqual([]);
  const page = await home.api.json('GET', `/care-homes/${home.locationId}/alarms`);
  expect(events.parse(page).events).toHaveLength(5);
});

it('acknowledges alarms again when their counter was set back', async () => {
  const store = await OwnRedis.create();
  cleanups.push(() => store.remove());
  await store.start();
  const home = await homeWith({ GATEWAY_REDIS_URL: store.url });
  await recordAlarms(home, 5);
  await store.redis.set(SEQUENCE, 1);
  await home.gateway.logged('raised counters that were behind their entries');
  await recordAlarms(home, 2, 7);
  expect(await home.api.json('GET', '/losses')).toEqual([]);
});

it('reports number and range of the alarms that the store has lost as a replica of an older one, and records those again that memory has', async () => {
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
  await recordAlarms(home, 3);
  await eventually(async () => expect(await older.redis.get(SEQUENCE)).toBe('3'));
  await older.redis.replicaof('NO', 'ONE');
  await recordAlarms(home, 4, 7);
  await store.redis.replicaof('127.0.0.1', older.port);
  await eventually(async () => expect(await store.redis.get(SEQUENCE)).toBe('3'));
  await store.redis.replicaof('NO', 'ONE');
  await eventually(async () => {
    const found = losses.parse(await home.api.json('GET', '/losses'));
    const alarms = found.filter(({ what }) => what === 'alarms');
    expect(alarms).toEqual([expect.objectContaining({ from: 4, to: 7, count: 4 })]);
  });
  expect(await saysReady(home)).toMatch(/lost up to 4 alarms .numbers 4 to 7/);
  // The first alarm after the loss shows how far back the store is.
  await recordAlarms(home, 1, 8);
  await eventually(async () => {
    const page = await home.api.json('GET', `/care-homes/${home.locationId}/alarms`);
    expect(events.parse(page).events).toHaveLength(8);
  });
  const back = await Subscriber.connect(home.gateway, home.viewer, session);
  await back.until(() => new Set(back.messages().map(({ id }) => id)).size === 8);
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
