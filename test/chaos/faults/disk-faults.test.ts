import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { ScriptedUpstream } from '../../bridge/upstream/scripted-upstream.js';
import { eventually } from '../../former/eventually.js';
import { GatewayHere } from '../../former/gateway/gateway-here.js';
import { GatewayProcess } from '../../former/gateway/gateway-process.js';
import type { RunningGateway } from '../../former/gateway/running-gateway.js';
import { Home } from '../../former/home.js';
import { storeProcessId } from '../../former/stored/store-process.js';
import { becomesReady, Columns, isRecorded, saysOverHttp, Watcher } from './faults.js';

const DISK_BYTES = 16 * 1024 * 1024;
const TRUNCATED_BYTES = 3;
const NO_MOUNT = 'mounting a small file system is not permitted here';

/** Clean-ups, run in reverse order. */
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Mounts a small file system; undefined where mounting is not permitted. */
function smallDisk(): string | undefined {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-disk-'));
  const options = ['-t', 'tmpfs', '-o', `size=${DISK_BYTES},mode=0700`, 'tmpfs', directory];
  const isMounted = spawnSync('mount', options, { stdio: 'ignore' }).status === 0;
  cleanups.push(() => {
    if (isMounted) spawnSync('umount', ['--lazy', directory], { stdio: 'ignore' });
    rmSync(directory, { recursive: true, force: true });
  });
  return isMounted ? directory : undefined;
}

/** Takes all space on the disk. Returns a function that frees it. */
function fill(directory: string): () => void {
  const file = join(directory, 'filler');
  for (let chunkBytes = 1024 * 1024; chunkBytes >= 1; chunkBytes = Math.floor(chunkBytes / 2)) {
    fillWith(file, Buffer.alloc(chunkBytes));
  }
  return () => rmSync(file, { force: true });
}

function fillWith(file: string, chunk: Buffer): void {
  for (;;) {
    try {
      writeFileSync(file, chunk, { flag: 'a' });
    } catch {
      return;
    }
  }
}

/** A home with its data directory on a small disk. */
async function homeOn<Gateway extends RunningGateway>(gateway: Gateway): Promise<Home<Gateway>> {
  cleanups.push(() => gateway.remove());
  await gateway.start();
  return Home.at(gateway);
}

/** Fills the disk, and has the sensors send until the store ends because of it. */
async function fillUp(dataDir: string, columns: Columns): Promise<() => void> {
  const free = fill(dataDir);
  cleanups.push(free);
  const { lines } = columns.home.gateway;
  const hasEnded = () => lines.join('\n').includes('the embedded store ended');
  // The last block of the file may still take one or two.
  for (let count = 0; count < 50 && !hasEnded(); count++) await columns.see();
  expect(hasEnded()).toBe(true);
  return free;
}

describe('guarantee 7: a full disk', () => {
  it('delays acknowledgements, not live alarms, and loses nothing at any QoS', async ({ skip }) => {
    const dataDir = smallDisk();
    if (dataDir === undefined) return skip(NO_MOUNT);
    const gateway = await GatewayHere.create({ GATEWAY_DATA_DIR: dataDir });
    const columns = await Columns.of(await homeOn(gateway));
    for (let count = 0; count < 20; count++) columns.alarm();
    await columns.loseNothing();
    const free = await fillUp(dataDir, columns);

    await saysOverHttp(columns.home, columns.anyDevice, /disk .* is full/);
    for (const watcher of columns.watchers) await watcher.seesFault(/disk .* is full/);
    // The store keeps restarting, and ends at every write.
    for (let count = 0; count < 5; count++) await columns.see();
    await columns.areServed();
    for (const { qos, acknowledged, sent } of columns.sensors) {
      if (qos > 0) expect(acknowledged.length).toBeLessThan(sent.length);
    }

    free();
    await columns.loseNothing();
    await becomesReady(columns.home);
  });

  it('does not prevent a gateway from starting', async ({ skip }) => {
    const dataDir = smallDisk();
    if (dataDir === undefined) return skip(NO_MOUNT);
    const upstream = await ScriptedUpstream.start();
    cleanups.push(() => upstream.remove());
    const gateway = await GatewayProcess.create({ GATEWAY_DATA_DIR: dataDir });
    await gateway.configure({ bridges: [{ name: 'region', url: upstream.url }] });
    const home = await homeOn(gateway);
    const devices = await Columns.devices(home);
    const before = await Columns.of(home);
    before.alarm();
    await before.loseNothing();
    const free = await fillUp(dataDir, before);
    await home.gateway.kill();
    await home.gateway.start();

    const watchers = [await Watcher.back(home), await Watcher.connect(home, 'live')];
    const after = await Columns.with(home, devices, watchers);
    for (let count = 0; count < 3; count++) await after.see();

    free();
    await after.loseNothing();
    for (const { device, sent, acknowledged } of before.sensors) {
      const history = (await home.api.allAlarms(device)).map(({ id }) => id);
      expect(history).toEqual(expect.arrayContaining(sent.slice(0, acknowledged.length)));
    }
    await becomesReady(home);
  });
});

describe('guarantee 7: a truncated append-only file', () => {
  it('is loaded up to the damage, which is logged; everything stored is there, at each QoS', async () => {
    const gateway = await GatewayProcess.start();
    cleanups.push(() => gateway.remove());
    const home = await Home.at(gateway);
    const columns = await Columns.of(home);
    for (const { subscriber } of columns.watchers) await subscriber.end();
    for (let count = 0; count < 20; count++) columns.alarm();
    await columns.areStored();
    // The lost end comes after everything acknowledged: fsync ensures that.
    const endOfAlarms = statSync(await appendOnlyFile(gateway)).size;
    await home.api.setCustomData(columns.anyDevice, '{"cut":true}');
    await killAll(gateway);
    const file = await appendOnlyFile(gateway);
    const { size } = statSync(file);
    expect(size - TRUNCATED_BYTES).toBeGreaterThan(endOfAlarms);
    truncateSync(file, size - TRUNCATED_BYTES);

    await gateway.start();
    expect(gateway.lines.join('\n')).toContain('cut the torn end off the append-only file');
    const [durable, live] = [await Watcher.back(home), await Watcher.connect(home, 'live')];
    for (const sensor of columns.sensors) {
      await isRecorded(home, sensor.device, sensor.sent);
      await durable.seesStored(sensor);
    }
    const again = await Columns.of(home);
    again.alarm();
    await again.loseNothing();
    for (const { device } of columns.sensors) expect(live.storedOf(device)).toEqual([]);
    await becomesReady(home);
  });
});

async function killAll(gateway: GatewayProcess): Promise<void> {
  const processId = storeProcessId(gateway.dataDir);
  if (processId === undefined) throw new Error('no store runs');
  const dead = gateway.kill();
  process.kill(processId, 'SIGKILL');
  await dead;
  await eventually(() => expect(storeProcessId(gateway.dataDir)).toBeUndefined());
}

/** The append-only file in use. */
async function appendOnlyFile({ dataDir }: GatewayProcess): Promise<string> {
  const directory = join(dataDir, 'redis', 'appendonlydir');
  const newest = (await readdir(directory)).filter((name) => name.endsWith('.incr.aof')).at(-1);
  if (newest === undefined) throw new Error('no append-only file');
  return join(directory, newest);
}
