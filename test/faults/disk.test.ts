/**
 * The disk of the own store: its append-only file ends in the middle of a write, and the disk is full when the gateway
 * starts after a kill (contract 4.7). The matrix has a disk that fills up at every instant.
 */
import { spawnSync } from 'node:child_process';
import { statSync, truncateSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { killProcess, storeProcessId } from '../harness/gateway.js';
import { expect, type Gateway, test } from '../harness/index.js';
import { FAULTS } from './matrix.js';

const TORN_BYTES = 3;
/** 1,024 bytes. */
const LARGEST_CUSTOM_DATA = JSON.stringify({ changed: 'x'.repeat(1_010) });

/** The append-only file in use. */
async function appendOnlyFile({ dataDir }: Gateway): Promise<string> {
  const directory = join(dataDir, 'redis', 'appendonlydir');
  const newest = (await readdir(directory)).filter((name) => name.endsWith('.incr.aof')).at(-1);
  if (newest === undefined) throw new Error('no append-only file');
  return join(directory, newest);
}

test('guarantee 7: a torn end of the append-only file is cut off, which is logged, and nothing acknowledged was in it', {
  timeout: 60_000,
}, async ({ own }) => {
  const home = await own.home({ kind: 'process' });
  const { gateway } = home;
  const sensors = [await home.sensor(), await home.sensor({ qos: 2 })];
  const nurse = await home.nurse({ isDurable: true });
  await nurse.leave();
  for (const sensor of sensors) await sensor.raise(20);
  // The lost end comes after everything acknowledged: fsync ensures that.
  const endOfAlarms = statSync(await appendOnlyFile(gateway)).size;
  await home.customData(sensors[0]?.device ?? { id: '' }, LARGEST_CUSTOM_DATA);
  const store = storeProcessId(gateway.dataDir);
  const dead = gateway.kill();
  if (store !== undefined) killProcess(store);
  await dead;
  await expect.poll(() => storeProcessId(gateway.dataDir)).toBeUndefined();
  const file = await appendOnlyFile(gateway);
  expect(statSync(file).size - TORN_BYTES).toBeGreaterThan(endOfAlarms);
  truncateSync(file, statSync(file).size - TORN_BYTES);

  await gateway.start();
  expect(gateway.lines.join('\n')).toContain('cut the torn end off the append-only file');
  await nurse.connect();
  for (const sensor of sensors) await sensor.raise();
  await home.settled();
  await expect.poll(() => home.faults()).toEqual([]);
});

test('guarantee 7: a gateway that was killed starts on a full disk, forwards live, and loses nothing', {
  timeout: 60_000,
}, async ({ own, skip }) => {
  const disk = own.directory();
  const options = ['-t', 'tmpfs', '-o', 'size=16m,mode=0700', 'tmpfs', disk];
  if (spawnSync('mount', options).status !== 0) return skip('mounting is not permitted here');
  own.onEnd(() => spawnSync('umount', ['--lazy', disk]));
  const home = await own.home({ kind: 'process', env: { GATEWAY_DATA_DIR: disk } });
  const fault = FAULTS.find(({ on }) => on === 'disk');
  const [sensor, live] = [await home.sensor(), await home.nurse({ reconnects: true })];
  const durable = await home.nurse({ isDurable: true });
  await sensor.raise(20);
  const place = { gateway: home.gateway, disk, durable, sensors: [sensor] };
  const server = await own.redis();
  const all = { ...place, server, line: await own.proxy(server.socketPath) };
  await fault?.apply(all);
  await home.gateway.kill();
  await home.gateway.start();
  await expect.poll(() => live.client.isClosed || sensor.client.isClosed).toBe(false);
  for (let n = 0; n < 3; n++) await live.until(sensor.alarm());
  await fault?.undo(all);
  await durable.connect();
  await home.settled({ mayRepeat: true, liveMayMiss: true });
  await expect.poll(() => home.faults()).toEqual([]);
});
