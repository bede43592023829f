import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import {
  CONFIRMING_COMMANDS,
  checkRights,
  checkServer,
  NEEDED_COMMANDS,
} from '../../src/store/server/check.js';
import { Store } from '../../src/store/store.js';
import { Own } from '../harness/index.js';
import { RedisProgram } from '../harness/redis.js';

/** The user that docs/operate/install.md shows. */
function documentedUser(): string[] {
  const page = readFileSync('docs/operate/install.md', 'utf8');
  const [, rules = ''] = /ACL SETUSER gateway ([^`]*)```/.exec(page) ?? [];
  return rules.trim().split(/\s+/);
}

let server: RedisProgram;

beforeAll(async () => {
  server = await RedisProgram.start(['--appendonly', 'yes', '--appendfsync', 'always']);
});

afterAll(() => server.remove());

async function userWith(...rules: string[]): Promise<Store> {
  await server.redis.call('ACL', 'SETUSER', 'gateway', 'reset', ...rules);
  const redis = new Redis({ path: server.socketPath, username: 'gateway', password: 'password' });
  onTestFinished(() => redis.disconnect());
  return new Store(redis, '{site}:');
}

describe('a user of the store that lacks a right', () => {
  const rest = NEEDED_COMMANDS.filter((command) => command !== 'PING');

  it.each(rest)('is told that it may not run %s', async (command) => {
    const store = await userWith(...documentedUser(), `-${command.toLowerCase()}`);
    const checked = checkServer(store).then(() => checkRights(store, false));
    await expect(checked).rejects.toThrow(
      new RegExp(`the store forbids its user (.*, )?${command}\\b.*docs/operate/install.md`),
    );
  });

  it('is told that it may not run WAIT only if replicas confirm its writes', async () => {
    const confirming = CONFIRMING_COMMANDS.map((command) => `+${command.toLowerCase()}`);
    const version = Number.parseFloat((await server.info('server', 'redis_version')) ?? '');
    const known = version >= 7.2 ? confirming : confirming.slice(0, 1);
    const store = await userWith(...documentedUser(), '-wait');
    await checkRights(store, false);
    await expect(checkRights(store, true)).rejects.toThrow(/forbids its user WAIT\b/);
    await checkRights(await userWith(...documentedUser(), ...known), true);
  });

  it('is told that it may not use the keys', async () => {
    const rules = documentedUser().filter((rule) => !rule.startsWith('~'));
    const store = await userWith(...rules, '~{other}:*');
    await expect(checkRights(store, false)).rejects.toThrow("the site's keys");
  });
});

it('does all its work as the user that the documents show', async () => {
  await userWith(...documentedUser());
  const own = new Own();
  onTestFinished(() => own.release());
  const home = await own.home({
    env: {
      GATEWAY_REDIS_URL: server.url,
      GATEWAY_REDIS_USER: 'gateway',
      GATEWAY_REDIS_PASSWORD: 'password',
      GATEWAY_ESCALATIONS: '[{"name":"night","afterSeconds":60}]',
    },
  });
  const { gateway } = home;
  const device = await home.deviceIn(await home.room('Room 1', await home.group('Ward')));
  const nurse = await home.nurse({ isDurable: true });
  await nurse.leave();
  const topic = `devices/${device.id}`;
  const will = { topic: `${topic}/gone`, payload: Buffer.from('1'), qos: 1 as const, retain: true };
  const sensor = await home.client(device, { clean: false, will });
  await sensor.publish(`${topic}/alarms`, 'no kind');
  await sensor.publish(`${topic}/value`, '1', { qos: 2, retain: true });
  await sensor.publish(`${topic}/alarms`, '{"kind":"fall"}', { qos: 2 });
  sensor.vanish();
  const [alarm] = await home.alarms(device);
  for (const change of ['acknowledge', 'resolve'])
    await home.must('POST', `./alarms/${alarm?.id}/${change}`);
  await home.must('POST', './drills', { json: {} });
  await nurse.connect();
  await nurse.untilRecords(1);
  for (const path of [
    `./alarms/${alarm?.id}/deliveries`,
    './alarms?kinds=fall&order=asc',
    './alarm-counts?by=day&timeZone=UTC&after=2026-01-01T00:00:00Z',
    './rejected',
    './supervision',
    '/audit',
    '/sessions',
    '/connections/denied',
  ]) {
    await home.must('GET', path);
  }
  await home.must('DELETE', `./devices/${device.id}`);
  await gateway.restart();
  await gateway.stop();
  expect(gateway.lines.filter((line) => /NOPERM|can't run this command/.test(line))).toEqual([]);
});
