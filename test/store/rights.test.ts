import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { checkRights, NEEDED_COMMANDS } from '../../src/store/server/rights.js';
import { checkServer } from '../../src/store/server/server-check.js';
import { Store } from '../../src/store/store.js';
import { connectDevice, Subscriber } from '../former/clients/mqtt-clients.js';
import { GatewayHere } from '../former/gateway/gateway-here.js';
import { Home } from '../former/home.js';
import { RedisServer } from '../former/servers/redis-server.js';

/** The user that docs/operate/install.md shows. */
function documentedUser(): string[] {
  const page = readFileSync('docs/operate/install.md', 'utf8');
  const [, rules = ''] = /ACL SETUSER gateway ([^`]*)```/.exec(page) ?? [];
  return rules.trim().split(/\s+/);
}

let server: RedisServer;

beforeAll(async () => {
  server = await RedisServer.start('--appendonly', 'yes', '--appendfsync', 'always');
});

afterAll(() => server.remove());

async function userWith(...rules: string[]): Promise<Store> {
  await server.redis.call('ACL', 'SETUSER', 'gateway', 'reset', ...rules);
  const redis = new Redis({ path: server.socketPath, username: 'gateway', password: 'password' });
  onTestFinished(() => redis.disconnect());
  return new Store(redis);
}

describe('a user of the store that lacks a right', () => {
  const rest = NEEDED_COMMANDS.filter((command) => command !== 'PING');

  it.each(rest)('is told that it may not run %s', async (command) => {
    const store = await userWith(...documentedUser(), `-${command.toLowerCase()}`);
    const checked = checkServer(store).then(() => checkRights(store, '{site}:absent'));
    await expect(checked).rejects.toThrow(
      new RegExp(`the store forbids its user (.*, )?${command}\\b.*docs/operate/install.md`),
    );
  });

  it('is told that it may not use the keys', async () => {
    const rules = documentedUser().filter((rule) => !rule.startsWith('~'));
    const store = await userWith(...rules, '~{other}:*');
    await expect(checkRights(store, '{site}:absent')).rejects.toThrow("the site's keys");
  });
});

it('does all its work as the user that the documents show', async () => {
  await userWith(...documentedUser());
  const gateway = await GatewayHere.start({
    GATEWAY_REDIS_URL: `unix://${server.socketPath}`,
    GATEWAY_REDIS_USER: 'gateway',
    GATEWAY_REDIS_PASSWORD: 'password',
    GATEWAY_ESCALATIONS: '[{"name":"night","afterSeconds":60}]',
  });
  onTestFinished(() => gateway.remove());
  const home = await Home.at(gateway);
  const device = await home.deviceIn(await home.room('Room 1', await home.group('Ward')));
  await home.absent('station-1');
  const sensor = await connectDevice(gateway, device, {
    clientId: 'sensor',
    clean: false,
    will: { topic: `devices/${device.id}/gone`, payload: '1', qos: 1, retain: true },
  });
  await sensor.publishAsync(`devices/${device.id}/alarms`, 'no kind', { qos: 1 });
  await sensor.publishAsync(`devices/${device.id}/value`, '1', { qos: 2, retain: true });
  await sensor.publishAsync(`devices/${device.id}/alarms`, '{"kind":"fall"}', { qos: 2 });
  sensor.end(true);
  const { events } = await home.api.alarms(device);
  const alarm = `${home.path}/alarms/${events[0]?.id}`;
  await home.api.json('POST', `${alarm}/acknowledge`, {});
  await home.api.json('POST', `${alarm}/resolve`, {});
  await home.api.json('POST', `${home.path}/drills`, {});
  const nurse = await Subscriber.connect(gateway, home.viewer, {
    clientId: 'station-1',
    clean: false,
  });
  await nurse.until((received) => received.filter(({ qos }) => qos === 1).length >= 4);
  await nurse.end();
  for (const path of [
    `${alarm}/deliveries`,
    `${home.path}/alarms?kinds=fall&order=asc`,
    `${home.path}/alarm-counts?by=day&timeZone=UTC&after=2026-01-01T00:00:00Z`,
    `${home.path}/rejected`,
    `${home.path}/supervision`,
    '/audit',
    '/sessions',
    '/connections/denied',
  ]) {
    await home.api.json('GET', path);
  }
  await home.api.json('DELETE', `${home.path}/devices/${device.id}`);
  await gateway.stop();
  await gateway.start();
  await gateway.stop();
  expect(gateway.lines.filter((line) => line.includes('NOPERM'))).toEqual([]);
  expect(gateway.lines.filter((line) => line.includes("can't run this command"))).toEqual([]);
});
