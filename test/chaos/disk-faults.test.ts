import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { Home } from '../broker/home.js';
import { GatewayProcess } from '../harness/gateway-process.js';
import { Subscriber } from '../harness/mqtt-clients.js';
import {
  becomesReady,
  eventually,
  isRecorded,
  nothingIsLost,
  Sensor,
  saysOverHttp,
  Watcher,
} from './faults.js';
import { storeProcessId } from './victim.js';

const DISK_BYTES = 16 * 1024 * 1024;
const TRUNCATED_BYTES = 3;
const NO_MOUNT = 'mounting a small file system is not permitted here';

/** In the order in which they are to be undone: the last one first. */
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A file system of its own, undefined where mounting is not permitted. */
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

/** Takes all the room there is. Returns how to give it back. */
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

/** A home whose data directory is on a small disk of its own. */
async function homeOn(dataDir: string): Promise<Home> {
  const gateway = await GatewayProcess.start({ GATEWAY_DATA_DIR: dataDir });
  cleanups.push(() => gateway.remove());
  return Home.at(gateway);
}

/** Fills the disk, and has the sensor send until the store has ended over it. */
async function fillUp(dataDir: string, home: Home, sensor: Sensor, watcher: Watcher) {
  const free = fill(dataDir);
  cleanups.push(free);
  const { lines } = home.gateway;
  const hasEnded = () => lines.join('\n').includes('the embedded store ended');
  // The block at the end of the file may still take one or two.
  for (let count = 0; count < 50 && !hasEnded(); count++) await watcher.sees(sensor);
  expect(hasEnded()).toBe(true);
  return free;
}

describe('guarantee 7: a full disk', () => {
  it('holds up acknowledgements, not live alarms, and loses nothing', async ({ skip }) => {
    const dataDir = smallDisk();
    if (dataDir === undefined) return skip(NO_MOUNT);
    const home = await homeOn(dataDir);
    const device = await home.device();
    const sensor = await Sensor.connect(home, device);
    const watcher = await Watcher.connect(home);
    for (let count = 0; count < 20; count++) sensor.alarm();
    await sensor.allAcknowledged();
    const free = await fillUp(dataDir, home, sensor, watcher);

    await saysOverHttp(home, device, /disk .* is full/);
    await watcher.seesFault(/disk .* is full/);
    // The store is started again and again, and ends with every write.
    for (let count = 0; count < 5; count++) await watcher.sees(sensor);
    await sensor.isServed();
    expect(sensor.acknowledged.length).toBeLessThan(sensor.sent.length);

    free();
    await nothingIsLost(home, sensor, watcher);
    await becomesReady(home);
  });

  it('does not keep a gateway from starting', async ({ skip }) => {
    const dataDir = smallDisk();
    if (dataDir === undefined) return skip(NO_MOUNT);
    const home = await homeOn(dataDir);
    const [one, other] = [await home.device(), await home.device()];
    const sensor = await Sensor.connect(home, one);
    const watcher = await Watcher.connect(home);
    sensor.alarm();
    await sensor.allAcknowledged();
    const free = await fillUp(dataDir, home, sensor, watcher);
    await home.gateway.kill();
    await home.gateway.start();

    const again = await Watcher.connect(home);
    const late = await Sensor.connect(home, other);
    for (let count = 0; count < 3; count++) await again.sees(late);

    free();
    await nothingIsLost(home, late, again);
    const acknowledged = sensor.sent.slice(0, sensor.acknowledged.length);
    const history = (await home.api.allAlarms(one)).map(({ id }) => id);
    expect(history).toEqual(expect.arrayContaining(acknowledged));
    await becomesReady(home);
  });
});

describe('guarantee 7: an append-only file without its end', () => {
  it('is loaded up to there, which the log says', async () => {
    const gateway = await GatewayProcess.start();
    cleanups.push(() => gateway.remove());
    const home = await Home.at(gateway);
    const device = await home.device();
    const filter = home.filter(device, 'alarms/#');
    const session = { clientId: 'nurse', clean: false };
    const nurse = await Subscriber.connect(gateway, home.viewer, session);
    await nurse.subscribe(filter);
    await nurse.end();
    const sensor = await Sensor.connect(home, device);
    for (let count = 0; count < 50; count++) sensor.alarm();
    await sensor.allAcknowledged();
    // The end that is lost is after what was acknowledged: that is what fsync is for.
    const endOfAlarms = statSync(await appendOnlyFile(gateway)).size;
    await home.api.setCustomData(device, '{"cut":true}');
    await killAll(gateway);
    const file = await appendOnlyFile(gateway);
    const { size } = statSync(file);
    expect(size - TRUNCATED_BYTES).toBeGreaterThan(endOfAlarms);
    truncateSync(file, size - TRUNCATED_BYTES);

    await gateway.start();
    expect(gateway.lines.join('\n')).toMatch(/truncat|short read|damaged/i);
    await isRecorded(home, device, sensor.sent);
    const back = await Subscriber.connect(gateway, home.viewer, session);
    await back.untilCount(sensor.sent.length);
    expect(back.messages('/alarms/').map(({ id }) => id)).toEqual(sensor.sent);
    await back.end();
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

/** The file that is being written. */
async function appendOnlyFile({ dataDir }: GatewayProcess): Promise<string> {
  const directory = join(dataDir, 'redis', 'appendonlydir');
  const newest = (await readdir(directory)).filter((name) => name.endsWith('.incr.aof')).at(-1);
  if (newest === undefined) throw new Error('no append-only file');
  return join(directory, newest);
}
