/**
 * The lease of a store that two gateways share: what the one that stands by answers, what a takeover costs, and a
 * store whose replica must confirm. `scenarios.ts` holds who serves after a fault.
 */

import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import { askUrl } from '../harness/http.js';
import { describe, expect, type Own, test } from '../harness/index.js';
import { claimPort } from '../harness/program.js';
import { RedisProgram, SAFE_SETTINGS } from '../harness/redis.js';

const FOREIGN_KEYS = 20_000;
const REFUSAL = 'No replica confirms what is stored: nothing is acknowledged.';

/** A gateway that serves, and a process that stands by. */
async function pairOn(own: Own) {
  const redis = await own.redis();
  const env = { GATEWAY_REDIS_URL: redis.url };
  const home = await own.home({ kind: 'process', env });
  const other = await own.gatewayOff({ kind: 'process', env });
  return { redis, home, other, url: await other.startStandingBy() };
}

/** Whether config/pair/gateway-serves.sh tells keepalived that the gateway at the URL serves. */
function serves(url: string): boolean {
  return spawnSync('config/pair/gateway-serves.sh', [url]).status === 0;
}

async function takes(own: Own, port: number): Promise<Server> {
  const server = createServer().listen(port, '127.0.0.1');
  own.onEnd(() => server.close());
  await once(server, 'listening');
  return server;
}

describe('a gateway that stands by', { timeout: 60_000 }, () => {
  test('answers that it is alive and not ready, takes no MQTT, and frees all for its turn', async ({
    own,
  }) => {
    const { redis, home, other, url } = await pairOn(own);
    const ready = await askUrl('GET', `${url}/readyz`);
    expect([ready.status, ready.headers['content-type']]).toEqual([
      503,
      'application/problem+json',
    ]);
    const [line] = other.lines.filter((each) =>
      each.includes('another gateway serves the site of this store'),
    );
    const { holder, epoch } = JSON.parse(line ?? '{}');
    expect(epoch).toBe(1);
    expect(ready.json).toMatchObject({
      code: 'standing-by',
      ready: false,
      instance: '/readyz',
      detail: expect.stringContaining(holder),
      faults: [{ code: 'standing-by', stops: true, since: expect.stringMatching(/Z$/) }],
    });
    const live = await askUrl('GET', `${url}/healthz`);
    expect([live.status, live.json]).toEqual([200, { status: 'ok' }]);
    for (const path of ['/', '/care-homes', '/metrics', '/healthz/x']) {
      const answer = await askUrl(path === '/' ? 'GET' : 'POST', url + path);
      expect([path, answer.status, answer.at('code')]).toEqual([path, 503, 'standing-by']);
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    }
    const mqtt = connect(Number(other.variables['GATEWAY_MQTT_PORT']), '127.0.0.1');
    await expect(once(mqtt, 'connect')).rejects.toThrow('ECONNREFUSED');

    // What keepalived asks: whoever serves has the address, even while the store does not answer.
    expect([serves(home.gateway.httpUrl), serves(url)]).toEqual([true, false]);
    redis.freeze();
    await expect.poll(async () => (await home.ask('GET', '/readyz')).status).toBe(503);
    expect(serves(home.gateway.httpUrl)).toBe(true);
    redis.thaw();

    const foreign = Array.from({ length: FOREIGN_KEYS }, (_, at) => [`{other}:key:${at}`, 'x']);
    await redis.redis.mset(foreign.flat());
    await redis.redis.config('RESETSTAT');
    const from = other.lines.length;
    expect(await home.gateway.stop()).toBe(0);
    await other.ready(from);
    // A takeover does not look through the keys of other homes.
    const calls = await redis.redis.info('commandstats');
    expect(calls).toMatch(/cmdstat_hgetall:/);
    expect(calls).not.toMatch(/cmdstat_(scan|keys):/);
    expect((await home.servedBy(other).must('GET', '/metrics')).text).toContain(
      'gateway_lease_epoch 2',
    );
  });

  test('fails to start, and names the key to change, while its address is in use', async ({
    own,
  }) => {
    const { redis, home } = await pairOn(own);
    const port = await claimPort();
    await takes(own, port);
    const url = [`redis://127.0.0.1:${await claimPort()}`, redis.url];
    for (const GATEWAY_REDIS_URL of url) {
      const env = { GATEWAY_REDIS_URL, GATEWAY_HTTP_PORT: String(port) };
      const gateway = await own.gatewayOff({ kind: 'process', env });
      await expect(gateway.startStandingBy()).rejects.toThrow(/port \d+ on 127\.0\.0\.1 is in use/);
    }
    expect(serves(home.gateway.httpUrl)).toBe(true);
  });
});

test('a gateway with a store of its own has no lease, and sends its commands unchanged', async ({
  own,
}) => {
  const home = await own.home();
  const { redis } = await home.store();
  // The client's own MONITOR fails if a command arrives before it is ready.
  const monitor = connect(redis.options.path ?? '').setEncoding('utf8');
  monitor.write('MONITOR\r\n');
  await once(monitor, 'data');
  let commands = '';
  monitor.on('data', (text: string) => {
    commands += text;
  });
  await home.nurse();
  await (await home.sensor()).raise(1);
  await home.settled();
  await redis.echo('the last command');
  await expect.poll(() => commands).toContain('the last command');
  monitor.destroy();
  expect(commands.toLowerCase()).toContain('"xadd"');
  expect(commands).not.toContain('FENCED');
  expect((await home.must('GET', '/metrics')).text).not.toContain('gateway_lease_epoch');
  expect(home.gateway.lines.join()).not.toContain('lease');
});

describe('a store whose replica must confirm', () => {
  /** A server on a port of its own. */
  async function server(own: Own, settings: readonly string[] = []): Promise<RedisProgram> {
    const [directory, port] = [own.directory(), await claimPort()];
    const args = [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--save',
      '',
      ...SAFE_SETTINGS,
      ...settings,
    ];
    const program = new RedisProgram({ args, directory, port });
    own.onEnd(() => program.remove());
    await program.start();
    return program;
  }

  async function homeWithReplica(own: Own) {
    const primary = await server(own);
    const replica = await server(own, ['--replicaof', `127.0.0.1 ${primary.port}`]);
    await expect.poll(() => replica.info('replication', 'master_link_status')).toBe('up');
    const redis = { url: primary.url, replicas: 1, withoutReplica: 'refuse' };
    return { primary, replica, home: await own.home({ config: { redis } }) };
  }

  test('holds back PUBACK, SUBACK and 2xx while it is silent, and alarms go live', async ({
    own,
  }) => {
    const { home, replica } = await homeWithReplica(own);
    const [sensor, live] = [await home.sensor(), await home.nurse()];
    const late = await home.client(home.viewer, { clientId: 'durable', clean: false });
    replica.freeze();
    const alarm = sensor.alarm();
    const suback = late.subscribe(home.filter());
    await live.until(alarm);
    const created = await home.ask('POST', '/care-homes', { json: { name: 'New' } });
    expect([created.status, created.problem.detail]).toEqual([503, REFUSAL]);
    await expect.poll(async () => (await home.ask('GET', '/readyz')).status).toBe(503);
    await expect.poll(() => home.faults()).toContain(REFUSAL);
    expect(alarm.isAcknowledged).toBe(false);
    expect(late.packets.map(({ cmd }) => cmd)).not.toContain('suback');
    replica.thaw();
    expect(await suback).toEqual([1]);
    await home.settled();
    await expect.poll(() => home.faults()).toEqual([]);
  });

  test('has everything acknowledged when the primary is killed', async ({ own }) => {
    const { home, primary, replica } = await homeWithReplica(own);
    const sensor = await home.sensor();
    for (let count = 0; count < 300; count++) sensor.alarm();
    await expect.poll(() => home.ledger.acknowledgedCount, { interval: 5 }).toBeGreaterThan(50);
    await primary.kill();
    const acknowledged = home.ledger.acknowledgedCount;
    await replica.redis.replicaof('NO', 'ONE');
    const again = await own.gatewayOff({
      kind: 'process',
      config: { redis: { url: replica.url } },
    });
    // The first still has the lease, which it cannot renew there.
    await again.startStandingBy();
    await again.ready();
    const ids = (await home.servedBy(again).alarms(sensor.device)).map(({ id }) => id);
    const owed = home.ledger.alarms.slice(0, acknowledged).map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining(owed));
  });
});
