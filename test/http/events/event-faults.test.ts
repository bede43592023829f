import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Api, type TestToken } from '../../former/clients/api.js';
import { EventReader } from '../../former/clients/event-reader.js';
import { connectDevice, Subscriber } from '../../former/clients/mqtt-clients.js';
import { GatewayHere } from '../../former/gateway/gateway-here.js';
import type { RunningGateway } from '../../former/gateway/running-gateway.js';
import { median } from '../../former/median.js';
import { NumberedHome, range } from '../../former/numbered-home.js';

let gateway: RunningGateway;
/** How far the clock that does not jump is ahead of the real clock. */
let aheadMs: number;
let api: Api;
let home: NumberedHome;
let readers: EventReader[] = [];
let sockets: Socket[] = [];

async function start(environment: Record<string, string> = {}): Promise<void> {
  aheadMs = 0;
  gateway = await GatewayHere.start(environment, { elapsed: () => performance.now() + aheadMs });
  api = new Api(gateway);
  home = await NumberedHome.open(gateway, 1);
}

beforeEach(() => {
  readers = [];
  sockets = [];
});

afterEach(async () => {
  for (const reader of readers) reader.close();
  for (const socket of sockets) socket.destroy();
  await home.close();
  await gateway.remove();
});

async function read(token: TestToken = home.viewer): Promise<EventReader> {
  const reader = await EventReader.open(gateway, token, { filters: [home.alarmFilter] });
  readers.push(reader);
  return reader;
}

async function statusOf(token?: TestToken): Promise<number | undefined> {
  return (await read(token)).response.statusCode;
}

async function metric(name: string): Promise<number> {
  const text = await (await api.request('GET', '/metrics')).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

/** Opens a stream without reading it. */
async function freeze(filter = home.alarmFilter): Promise<Socket> {
  const { address: host, port } = gateway.addresses.http;
  const socket = connect({ host, port });
  sockets.push(socket);
  socket.on('error', () => undefined);
  socket.pause();
  const path = `/events?filter=${encodeURIComponent(filter)}`;
  const authorization = `Authorization: Bearer ${home.viewer.token}`;
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n${authorization}\r\n\r\n`);
  await once(socket, 'readable');
  return socket;
}

describe('an event stream ends', () => {
  it('immediately when its token is deleted, and others continue', async () => {
    await start();
    const token = await api.viewer(home.locationId);
    const [reader, other] = [await read(token), await read()];
    await Promise.all([reader.opened(), other.opened()]);
    await api.json('DELETE', `/access-tokens/${token.id}`);
    await reader.untilEnd();
    expect(await statusOf(token)).toBe(401);
    await home.alarm();
    await other.untilAlarms(1);
    expect(reader.alarms()).toEqual([]);
  });

  it('when its token expires', async () => {
    await start();
    const expiresAt = new Date(Date.now() + 5_000).toISOString();
    const grants = [{ location: home.locationId, role: 'viewer' }];
    const reader = await read(await api.createToken(grants, 'short', expiresAt));
    await reader.opened();
    await reader.untilEnd();
  });

  it('when the gateway stops, which does not wait for it', async () => {
    await start();
    const many = await Promise.all(range(0, 20).map(() => read()));
    await Promise.all(many.map((reader) => reader.opened()));
    await freeze();
    await gateway.stop();
    expect(many.every(({ isEnded }) => isEnded)).toBe(true);
    const line = gateway.lines.find((one) => one.includes('giving up'));
    expect(line).toBeUndefined();
  });

  it('and frees its place when its client disconnects', async () => {
    await start();
    const reader = await read();
    await reader.opened();
    expect(await metric('gateway_connections')).toBe(1);
    reader.close();
    await expect.poll(() => metric('gateway_connections')).toBe(0);
    expect(await metric('gateway_sessions')).toBe(0);
  });
});

describe('a stream that nobody reads', () => {
  const UNREAD = 'gateway_quota_exceeded_total{quota="unread_bytes"}';
  const PROMPT_MS = 1_000;
  const UNREAD_AFTER_MS = 5_000;
  /** Messages of 400 kB each: more than all buffers on the way hold. */
  const FILLING = 30;

  it('is ended and named, without losing or delaying the alarms of others', async () => {
    await start();
    const nurse = await Subscriber.connect(gateway, home.viewer);
    await nurse.subscribe(home.alarmFilter);
    const reader = await read();
    await reader.opened();
    const { device } = home.sensor;
    const talker = await connectDevice(gateway, device);
    await freeze('care-homes/#');
    const long = JSON.stringify('x'.repeat(20_000));
    const delaysMs: number[] = [];
    for (let alarms = 1; (await metric(UNREAD)) !== 1; alarms++) {
      if (alarms === FILLING) aheadMs = UNREAD_AFTER_MS + 1_000;
      const publishing = range(0, alarms < FILLING ? 20 : 0).map(() =>
        talker.publishAsync(`devices/${device.id}/x`, long, { qos: 1 }),
      );
      const startedAtMs = performance.now();
      await home.alarm();
      await Promise.all([nurse.untilCount(alarms), reader.untilAlarms(alarms)]);
      delaysMs.push(performance.now() - startedAtMs);
      await Promise.all(publishing);
    }
    expect(median(delaysMs)).toBeLessThan(PROMPT_MS);
    // The two sensors, the nurse, and the stream that is read.
    expect(await metric('gateway_connections')).toBe(4);
    expect(JSON.stringify(reader.alarms().map(({ data }) => data))).toBe(
      JSON.stringify(range(0, home.alarmCount).map((n) => ({ n }))),
    );
    await talker.endAsync();
    await nurse.end();
  });
});

describe('an event stream counts', () => {
  it('as a connection of its token, in a limit shared with MQTT', async () => {
    await start({ GATEWAY_LIMITS_TOKEN_CONNECTIONS: '3' });
    const nurse = await Subscriber.connect(gateway, home.viewer);
    const [first, second] = [await read(), await read()];
    await Promise.all([first.opened(), second.opened()]);
    const denied = await read();
    expect(denied.response.statusCode).toBe(429);
    expect(Number(denied.response.headers['retry-after'])).toBeGreaterThan(0);
    await expect(Subscriber.connect(gateway, home.viewer)).rejects.toThrow();
    // Another token has its own places.
    expect(await statusOf(await api.viewer(home.locationId))).toBe(200);
    first.close();
    await expect.poll(() => statusOf()).toBe(200);
    await nurse.end();
  });

  it('among the listed connections, with its address and backlog', async () => {
    await start();
    const reader = await read();
    await reader.opened();
    await home.alarm();
    await reader.untilAlarms(1);
    const listed = () => api.json('GET', '/connections');
    await expect.poll(listed).toMatchObject({
      connections: [
        {
          clientId: expect.stringMatching(/^events-/),
          principal: { type: 'access-token', id: home.viewer.id },
          address: '127.0.0.1',
          protocol: 'sse',
          mqttVersion: null,
          keepAliveSeconds: null,
          backlog: { alarms: 0, messages: 0 },
        },
        { protocol: 'mqtt' },
      ],
    });
    reader.close();
    await expect.poll(listed).toMatchObject({ connections: [{ protocol: 'mqtt' }] });
  });

  it('with its filters as subscriptions of its token', async () => {
    await start({ GATEWAY_LIMITS_TOKEN_SUBSCRIPTIONS: '1' });
    await (await read()).opened();
    expect(await statusOf()).toBe(429);
  });

  it('towards the connect rate of its token', async () => {
    await start({
      GATEWAY_LIMITS_TOKEN_CONNECTS_PER_SECOND: '1',
      GATEWAY_LIMITS_TOKEN_CONNECT_BURST: '2',
    });
    const found = [];
    for (let at = 0; at < 5; at++) found.push(await statusOf());
    expect(found.slice(0, 2)).toEqual([200, 200]);
    expect(found).toContain(429);
  });
});
