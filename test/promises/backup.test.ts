/** Backups, and a gateway that goes on from one (contract 6, backup). */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { recorded } from '../harness/camera.js';
import { EventReader } from '../harness/events.js';
import { describe, expect, type Gateway, type Home, type Own, test } from '../harness/index.js';
import { Program } from '../harness/program.js';

const DAY_MS = 24 * 3_600_000;
const TIMEOUT = { timeout: 60_000 };

/** Runs a command of the built program. */
async function command(args: readonly string[], env: Record<string, string | undefined>) {
  const { PATH } = process.env;
  const program = Program.run(process.execPath, ['dist/main.js', ...args], {
    env: { PATH, ...env },
  });
  const status = await program.exit();
  return { status, text: program.lines.join('\n') };
}

function backup({ dataDir }: { readonly dataDir: string }, file: string, ...options: string[]) {
  return command(['backup', file, ...options], { GATEWAY_DATA_DIR: dataDir });
}

function restore(file: string, dataDir: string, ...options: string[]) {
  return command(['restore', file, ...options], { GATEWAY_DATA_DIR: dataDir });
}

/** A gateway on the restored backup. */
async function restored(own: Own, file: string): Promise<Gateway> {
  const dataDir = join(own.directory(), 'data');
  expect(await restore(file, dataDir)).toMatchObject({ status: 0 });
  return own.gateway({ dataDir });
}

/** The file of a backup of a small home. */
async function smallBackup(own: Own): Promise<{ home: Home; file: string }> {
  const home = await own.home();
  await home.record(await home.device(), {});
  const file = join(own.directory(), 'backup.tar.gz');
  expect(await backup(home.gateway, file)).toMatchObject({ status: 0 });
  return { home, file };
}

const recordsOf = async (home: Home) =>
  (await home.must('GET', '/audit?limit=100')).list('events').map(({ id }) => id);

describe('a backup', () => {
  test(
    'under load holds every alarm acknowledged before it began, and no number is given twice',
    TIMEOUT,
    async ({ own }) => {
      const home = await own.home();
      const stream = await EventReader.open(home.gateway, home.viewer);
      const sensors = await Promise.all([1, 2, 3, 4].map(() => home.sensor()));
      const acknowledged: { id: string; deviceId: string }[] = [];
      let isOver = false;
      const floods = sensors.map(async (sensor) => {
        while (!isOver)
          for (const { id = '', deviceId } of await sensor.raise(50))
            acknowledged.push({ id, deviceId });
      });
      await expect.poll(() => acknowledged.length).toBeGreaterThan(1_000);
      // A rewrite replaces the files while they are copied.
      await (await home.store()).redis.bgrewriteaof();
      const owed = [...acknowledged];
      const file = join(own.directory(), 'backup.tar.gz');
      const made = await backup(home.gateway, file);
      isOver = true;
      await Promise.all(floods);
      expect(made).toMatchObject({ status: 0, text: expect.stringMatching(/^wrote and verified/) });
      expect(statSync(file).mode & 0o777).toBe(0o600);
      await stream.untilAlarms(acknowledged.length);
      const positions = new Set(stream.alarms().map(({ position }) => position));
      const numbers = new Set([...positions].map((position) => position?.split('-')[1]));
      const records = new Set(await recordsOf(home));
      await home.gateway.stop();

      const again = home.servedBy(await restored(own, file));
      const kept = new Set<string>();
      for (const { device } of sensors)
        for (const { id } of await again.alarms(device)) kept.add(`${device.id} ${id}`);
      expect(owed.filter(({ id, deviceId }) => !kept.has(`${deviceId} ${id}`))).toEqual([]);

      const { lastEventId } = stream;
      const resumed = await EventReader.open(again.gateway, home.viewer, { lastEventId });
      expect(await resumed.opened()).toMatchObject({ missed: true });
      await again.record(await again.device(), {}, {});
      await resumed.untilAlarms(2);
      const later = resumed.alarms().map(({ position }) => position?.split('-')[1]);
      expect(later.filter((number) => numbers.has(number))).toEqual([]);
      const [newest] = await recordsOf(again);
      expect(records).not.toContain(newest);
      expect(await again.faults()).toContainEqual(
        expect.stringContaining('everything after the restored backup'),
      );
      resumed.close();
      stream.close();
    },
  );

  test(
    'of a gateway that is stopped has its secrets and, if asked for, its recordings',
    TIMEOUT,
    async ({ own }) => {
      const home = await own.home();
      const { device, key } = await recorded(home);
      const { dataDir } = home.gateway;
      writeFileSync(join(dataDir, 'admin.token'), 'a-token-of-the-administrator\n', {
        mode: 0o600,
      });
      await home.gateway.stop();
      const file = join(own.directory(), 'backup.tar.gz');
      expect(await backup(home.gateway, file, '--footage')).toMatchObject({ status: 0 });
      expect(await backup(home.gateway, file)).toMatchObject({
        status: 1,
        text: `${file} exists already: name a new file`,
      });
      const again = home.servedBy(await restored(own, file));
      for (const name of ['admin.token', 'installation.key', join('footage', key)]) {
        const [before, after] = [dataDir, again.gateway.dataDir].map((one) => join(one, name));
        expect(readFileSync(after ?? '')).toEqual(readFileSync(before ?? ''));
        expect(statSync(after ?? '').mode & 0o777).toBe(0o600);
      }
      expect(await again.alarms(device)).toHaveLength(1);
      // Once for each restored backup.
      await again.must('POST', '/faults/store-lost-data/acknowledge');
      await again.gateway.restart();
      expect(await again.faults()).toEqual([]);
    },
  );

  test("is only of the gateway's own store", async ({ own, redis }) => {
    const env = { GATEWAY_DATA_DIR: own.directory(), GATEWAY_REDIS_URL: redis.url };
    const file = join(own.directory(), 'backup.tar.gz');
    const { status, text } = await command(['backup', file], env);
    expect({ status, text }).toMatchObject({
      status: 1,
      text: expect.stringContaining('by its own means'),
    });
    const nothing = await backup({ dataDir: own.directory() }, file);
    expect(nothing).toMatchObject({ status: 1, text: expect.stringContaining('no store in') });
    expect(existsSync(file)).toBe(false);
  });
});

describe('a restore', () => {
  test('refuses a damaged backup, and leaves nothing', TIMEOUT, async ({ own }) => {
    const { file } = await smallBackup(own);
    const whole = readFileSync(file);
    const dataDir = join(own.directory(), 'data');
    const good = await restore(file, dataDir, '--dry-run');
    expect(good).toMatchObject({ status: 0, text: expect.stringContaining('is whole') });
    const places = [whole.length >> 1, whole.length - 8, whole.length - 200];
    for (const place of places) {
      const damaged = Buffer.from(whole);
      damaged[place] = (damaged[place] ?? 0) ^ 1;
      writeFileSync(file, damaged);
      for (const options of [['--dry-run'], []]) {
        const refused = await restore(file, dataDir, ...options);
        expect(refused).toEqual({ status: 1, text: `${file} is damaged, or no backup` });
      }
    }
    writeFileSync(file, whole.subarray(0, -100));
    expect(await restore(file, dataDir)).toMatchObject({ status: 1 });
    expect(existsSync(dataDir)).toBe(false);
  });

  test(
    'refuses a directory that is not empty, and one of a running gateway',
    TIMEOUT,
    async ({ own }) => {
      const { home, file } = await smallBackup(own);
      const { dataDir } = home.gateway;
      expect(await restore(file, dataDir)).toEqual({
        status: 1,
        text: `another gateway is running on ${dataDir}`,
      });
      await home.gateway.stop();
      const refused = await restore(file, dataDir, '--dry-run');
      expect(refused.status).toBe(1);
      expect(refused.text).toMatch(/ is not empty, it has .*redis.*: move it away first/);
    },
  );

  test('refuses a backup of another site', TIMEOUT, async ({ own }) => {
    const { file } = await smallBackup(own);
    const env = { GATEWAY_DATA_DIR: join(own.directory(), 'data'), GATEWAY_SITE: 'other' };
    const text = 'the backup is of the site site, and the configuration has other: set site';
    expect(await command(['restore', file], env)).toEqual({ status: 1, text });
  });

  test('takes a file with the name of another command', async ({ own }) => {
    const refused = await command(['restore', 'doctor'], { GATEWAY_DATA_DIR: own.directory() });
    expect(refused).toMatchObject({
      status: 1,
      text: expect.stringContaining('the restore failed'),
    });
  });
});

describe('the daily backup', () => {
  const NAME = /^gateway-\d{4}-\d\d-\d\dT\d{4}\.tar\.gz$/;

  test('is made each day, and the oldest go', TIMEOUT, async ({ own }) => {
    const directory = own.directory();
    const plan = { at: '02:30', timeZone: 'Europe/Berlin', keep: 2, directory };
    writeFileSync(join(directory, 'other.txt'), '');
    const home = await own.home({ config: { backup: plan }, isHurried: true });
    const names = () => readdirSync(directory).filter((name) => NAME.test(name));
    await expect.poll(names).toHaveLength(1);
    const [first] = names();
    for (const count of [2, 2]) {
      await home.record(await home.device(), {});
      const from = home.gateway.lines.length;
      await home.gateway.clock.advance(DAY_MS);
      await home.gateway.logged('made the daily backup', from);
      await expect.poll(names).toHaveLength(count);
    }
    expect(names()).not.toContain(first);
    expect(readdirSync(directory)).toContain('other.txt');
    await home.gateway.restart();
    expect(names()).toHaveLength(2);
    const again = home.servedBy(await restored(own, join(directory, names().at(-1) ?? '')));
    expect((await again.must('GET', './devices')).list()).toHaveLength(2);
  });

  test('that fails is a fault until one succeeds', TIMEOUT, async ({ own }) => {
    const directory = join(own.directory(), 'not-mounted');
    const config = { backup: { at: '02:30', timeZone: 'UTC', directory } };
    const home = await own.home({ config, isHurried: true });
    const failed = expect.stringContaining('The daily backup has failed');
    await expect.poll(() => home.faults()).toContainEqual(failed);
    mkdirSync(directory);
    await home.gateway.clock.advance(3_600_000);
    await expect.poll(() => home.faults()).not.toContainEqual(failed);
    expect(readdirSync(directory)).toEqual([expect.stringMatching(NAME)]);
  });
});
