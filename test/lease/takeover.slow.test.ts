import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Api, type TestDevice } from '../former/clients/api.js';
import { publishPacket, RawClient } from '../former/clients/raw-client.js';
import { GatewayProcess } from '../former/gateway/gateway-process.js';
import { Home } from '../former/home.js';
import { RedisServer } from '../former/servers/redis-server.js';
import { unusedPort } from '../former/servers/unused-port.js';

/** Shorter than the default, and longer than a machine stalls. */
const LEASE_SECONDS = 4;

const FOREIGN_KEYS = 20_000;
const TOOK_LEASE = 'took the lease of the store';
const leaseLine = z.object({ epoch: z.number(), holder: z.string() });

/** The ids of the alarms, by their names in these tests. */
const IDS: ReadonlyMap<string, string> = new Map(
  ['one', 'before', 'after', 'at last', 'while paused', 'at the other'].map((name) => [
    name,
    randomUUID(),
  ]),
);

let redis: RedisServer;
let first: GatewayProcess;
let second: GatewayProcess;
let home: Home;
let device: TestDevice;
let secondMqttUrl: string;
/** The URL where the second answers HTTP while it stands by. */
let secondUrl: string;

beforeAll(async () => {
  redis = await RedisServer.start('--appendonly', 'yes');
  first = await newGateway(await unusedPort());
  await first.start();
  home = await Home.at(first);
  const port = await unusedPort();
  secondMqttUrl = `mqtt://127.0.0.1:${port}`;
  second = await newGateway(port);
  secondUrl = await second.startStandingBy();
});

afterAll(async () => {
  await Promise.all([first.remove(), second.remove()]);
  await redis.remove();
});

/**
 * Has one gateway serve and the other stand by, with a device that has sent nothing yet.
 *
 * @returns how many lines the standing-by gateway has logged
 */
async function assign(serving: GatewayProcess, standingBy: GatewayProcess): Promise<number> {
  if (!serving.isRunning) await serving.start();
  if (!standingBy.isRunning) await standingBy.startStandingBy();
  device = await new Api(serving).createDevice(home.locationId);
  return standingBy.lines.length;
}

function newGateway(mqttPort: number): Promise<GatewayProcess> {
  return GatewayProcess.create({
    GATEWAY_REDIS_URL: `unix://${redis.socketPath}`,
    GATEWAY_MQTT_PORT: String(mqttPort),
    GATEWAY_LEASE_LENGTH_SECONDS: String(LEASE_SECONDS),
  });
}

function alarm(name: string, messageId = 1) {
  const payload = JSON.stringify({ kind: 'fall', id: IDS.get(name) });
  return { ...publishPacket(`devices/${device.id}/alarms`, payload), qos: 1 as const, messageId };
}

/** Has the gateway acknowledge an alarm. */
async function raise(gateway: GatewayProcess, name: string): Promise<void> {
  const sensor = await RawClient.connect(gateway, device);
  sensor.send(alarm(name));
  await sensor.next('puback');
  sensor.vanish();
}

/** The names of all alarms in the history, the oldest first. */
async function history(gateway: GatewayProcess): Promise<unknown[]> {
  const alarms = await new Api(gateway).allAlarms(device);
  const names = new Map(Array.from(IDS, ([name, id]) => [id, name]));
  return alarms.map(({ id }) => names.get(id)).toReversed();
}

async function leaseOf(gateway: GatewayProcess, from = 0): Promise<z.infer<typeof leaseLine>> {
  const line = await gateway.logged(TOOK_LEASE, from);
  return leaseLine.parse(JSON.parse(line));
}

/** The lease that the gateway took last. */
async function lastLeaseOf(gateway: GatewayProcess): Promise<z.infer<typeof leaseLine>> {
  return leaseOf(
    gateway,
    gateway.lines.findLastIndex((line) => line.includes(TOOK_LEASE)),
  );
}

async function takesConnections(url: string): Promise<boolean> {
  const { port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

describe('two gateways on one external store', () => {
  it('serve with the first, while the second stands by and says whose lease it is', async () => {
    const { epoch, holder } = await leaseOf(first);
    expect(epoch).toBe(1);
    const line = await second.logged('another gateway serves the site of this store');
    expect(leaseLine.parse(JSON.parse(line))).toEqual({ epoch, holder });
    const ready = await fetch(`${secondUrl}/readyz`);
    expect(ready.status).toBe(503);
    expect(ready.headers.get('content-type')).toBe('application/problem+json');
    expect(await ready.json()).toMatchObject({
      code: 'standing-by',
      ready: false,
      instance: '/readyz',
      detail: expect.stringContaining(holder),
      version: expect.stringMatching(/^\d/),
      faults: [{ code: 'standing-by', stops: true, since: expect.stringMatching(/Z$/) }],
    });
    const metrics = await new Api(first).request('GET', '/metrics');
    expect(await metrics.text()).toContain('gateway_lease_epoch 1');
  });

  it('answer over HTTP only that the second is alive and stands by, and close its MQTT', async () => {
    const live = await fetch(`${secondUrl}/healthz`);
    expect([live.status, await live.json()]).toEqual([200, { status: 'ok' }]);
    for (const path of ['/', '/care-homes', '/metrics', '/healthz/x']) {
      const answer = await fetch(secondUrl + path, { method: path === '/' ? 'GET' : 'POST' });
      expect(answer.status).toBe(503);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await answer.json()).toMatchObject({ code: 'standing-by' });
    }
    expect(await takesConnections(secondMqttUrl)).toBe(false);
  });
});

describe('a store that is silent for longer than the lease', () => {
  it('does not move the lease, and alarms go live meanwhile', async () => {
    await assign(first, second);
    const nurse = await home.nurse(device, 'alarms/#');
    const sensor = await RawClient.connect(first, device);
    process.kill(redis.processId, 'SIGSTOP');
    sensor.send(alarm('before'));
    await nurse.untilCount(1);
    await delay(LEASE_SECONDS * 1_000 + 500);
    sensor.send(alarm('after', 2));
    await nurse.untilCount(2);
    expect(sensor.packets.map(({ cmd }) => cmd)).toEqual(['connack']);
    process.kill(redis.processId, 'SIGCONT');
    await sensor.next('puback');
    await sensor.next('puback');

    expect(await history(first)).toEqual(['before', 'after']);
    expect(first.lines.join()).not.toContain('lost the lease');
    expect(second.lines.join()).not.toContain('took the lease');
    await nurse.end();
    sensor.vanish();
  });
});

describe('a gateway that was paused while another took over', () => {
  it('stores and acknowledges nothing, closes its listeners and stands by', async () => {
    const from = await assign(first, second);
    const sensor = await RawClient.connect(first, device);
    sensor.send(alarm('before', 1));
    await sensor.next('puback');
    const { mqttUrl } = first;
    first.signal('SIGSTOP');
    await second.ready(from);
    sensor.send(alarm('while paused', 2));
    await raise(second, 'at the other');
    const pausedAt = first.lines.length;
    first.signal('SIGCONT');
    await sensor.closed();

    expect(sensor.packets.filter(({ cmd }) => cmd === 'puback')).toHaveLength(1);
    await first.standingBy(pausedAt);
    const { holder, epoch } = await leaseOf(second);
    const line = await first.logged('lost the lease to another gateway');
    expect(leaseLine.parse(JSON.parse(line))).toEqual({ holder, epoch });
    expect(epoch).toBe(2);
    // Logged once, not by each of its parts.
    const loud = first.lines.slice(pausedAt).filter((each) => !each.includes('"level":30'));
    expect(loud).toEqual([line]);
    expect(await takesConnections(mqttUrl)).toBe(false);
    expect(await history(second)).toEqual(['before', 'at the other']);
  });
});

describe('a takeover', () => {
  // The first takes over again, after it was paused.
  it('happens immediately when the serving gateway is stopped, without losing or repeating anything', async () => {
    const from = await assign(second, first);
    const clientId = 'durable';
    const nurse = await RawClient.connect(second, home.viewer, { clientId, clean: false });
    await nurse.subscribe([home.filter(device, 'alarms/#')]);
    nurse.vanish();
    await raise(second, 'before');
    const { epoch } = await lastLeaseOf(second);
    // The first takes the lease only after it was given up.
    first.signal('SIGSTOP');
    expect(await second.stop()).toBe(0);
    expect(await redis.redis.hget('{site}:lease', 'holder')).toBe('');
    first.signal('SIGCONT');
    await first.ready(from);
    await raise(first, 'after');

    expect((await leaseOf(first, from)).epoch).toBe(epoch + 1);
    await raise(first, 'before');
    expect(await history(first)).toEqual(['before', 'after']);
    const again = await RawClient.connect(first, home.viewer, { clientId, clean: false });
    again.acknowledgeAll();
    await again.until(
      (packets) => packets.filter(({ cmd }) => cmd === 'publish').length === 2,
      'the alarms did not come',
    );
    again.vanish();
  });

  it('happens when the lease of a killed gateway has ended', async () => {
    const from = await assign(first, second);
    await raise(first, 'before');
    await first.kill();
    await second.ready(from);

    await raise(second, 'after');
    expect(await history(second)).toEqual(['before', 'after']);
    // Now the other stands by; it takes over no sooner than it must.
    await first.startStandingBy();
    await raise(second, 'at last');
  });

  it('ends immediately on request while standing by, and leaves the lease to the other', async () => {
    await assign(second, first);
    expect(await first.stop()).toBe(0);

    await raise(second, 'after');
    expect(await history(second)).toEqual(['after']);
  });

  it('waits for nothing when a killed gateway is restarted on its data directory', async () => {
    device = await new Api(second).createDevice(home.locationId);
    await raise(second, 'before');
    const { epoch } = await lastLeaseOf(second);
    await second.kill();
    const from = second.lines.length;
    await second.start();

    expect((await leaseOf(second, from)).epoch).toBe(epoch + 1);
    expect(second.lines.slice(from).join()).not.toContain('standing by');
    expect(await history(second)).toEqual(['before']);
  });

  it('does not scan the keys of other sites, and neither does an acknowledgement', async () => {
    const from = await assign(second, first);
    const foreign = Array.from({ length: FOREIGN_KEYS }, (_, at) => [`{other}:key:${at}`, 'x']);
    await redis.redis.mset(foreign.flat());
    await redis.redis.config('RESETSTAT');
    await second.stop();
    await first.ready(from);
    const unknown = `/care-homes/${home.locationId}/alarms/${randomUUID()}/acknowledge`;
    const answer = await new Api(first).request('POST', unknown);

    expect(answer.status).toBe(404);
    const calls = await redis.redis.info('commandstats');
    expect(calls).toMatch(/cmdstat_hgetall:/);
    expect(calls).not.toMatch(/cmdstat_(scan|keys):/);
  });
});
