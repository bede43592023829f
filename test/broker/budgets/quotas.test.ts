import { generate } from 'mqtt-packet';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestDevice, TestToken } from '../../former/clients/api.js';
import { deniedOf, faultsOf } from '../../former/clients/connection-list.js';
import { Subscriber } from '../../former/clients/mqtt-clients.js';
import { connectPacket, credentials, RawClient } from '../../former/clients/raw-client.js';
import { Home } from '../../former/home.js';

const UNAVAILABLE = 3;
const SUBACK_FAILURE = 0x80;

let home: Home;

beforeAll(async () => {
  home = await Home.start({
    GATEWAY_LIMITS_DEVICE_CONNECTIONS: '3',
    GATEWAY_LIMITS_DEVICE_PERSISTENT_SESSIONS: '2',
    GATEWAY_LIMITS_DEVICE_SUBSCRIPTIONS: '4',
    GATEWAY_LIMITS_TOKEN_PERSISTENT_SESSIONS: '2',
  });
});

afterAll(() => home.remove());

async function attempt(who: TestDevice | TestToken, clientId: string, clean = true) {
  const client = await RawClient.open(home.gateway);
  client.send(connectPacket({ ...credentials(who), clientId, clean }));
  const { returnCode } = await client.next('connack');
  return { client, returnCode };
}

/** Connects with a session that outlives the connection, and disconnects. */
async function comeAndGo(who: TestDevice | TestToken, clientId: string, ...filters: string[]) {
  const client = await RawClient.connect(home.gateway, who, { clientId, clean: false });
  if (filters.length > 0) await client.subscribe(filters);
  client.send({ cmd: 'disconnect' });
  await client.closed();
}

async function isPresent(who: TestDevice | TestToken, clientId: string): Promise<boolean> {
  const client = await RawClient.open(home.gateway);
  client.send(connectPacket({ ...credentials(who), clientId, clean: false }));
  const { sessionPresent } = await client.next('connack');
  client.send({ cmd: 'disconnect' });
  await client.closed();
  return sessionPresent;
}

async function countOf(quota: string): Promise<number> {
  const text = await (await fetch(`${home.gateway.httpUrl}/metrics`)).text();
  const sample = new RegExp(
    `^gateway_quota_exceeded_total\\{quota="${quota.replaceAll('-', '_')}"\\} (\\d+)$`,
    'm',
  );
  return Number(sample.exec(text)?.[1] ?? 0);
}

describe('the connections of one principal', () => {
  it('are refused with 3 beyond its quota, reported and named, while others connect', async () => {
    const [hostile, honest] = [await home.device(), await home.device()];
    const held = await Promise.all([1, 2, 3].map(() => RawClient.connect(home.gateway, hostile)));
    const before = await countOf('connections');
    const refused = await attempt(hostile, 'one-too-many');
    expect(refused.returnCode).toBe(UNAVAILABLE);
    await refused.client.closed();
    const denied = await deniedOf(home.gateway);
    expect(denied.find(({ clientId }) => clientId === 'one-too-many')).toMatchObject({
      code: 'too-many-connections',
      returnCode: UNAVAILABLE,
      username: hostile.id,
      detail: expect.stringContaining('limits.device.connections'),
    });
    expect(await faultsOf(home.gateway)).toContainEqual(expect.stringContaining(hostile.id));
    // The metrics are refreshed only now and then.
    await expect.poll(() => countOf('connections')).toBe(before + 1);
    const lines = home.gateway.lines.filter((line) => line.includes('quota exceeded'));
    for (let attempts = 0; attempts < 20; attempts++) {
      (await attempt(hostile, 'again')).client.vanish();
    }
    expect(home.gateway.lines.filter((line) => line.includes('quota exceeded'))).toEqual(lines);
    for (const client of [...held, await RawClient.connect(home.gateway, honest)]) {
      await client.ping();
      client.vanish();
    }
    await expect.poll(async () => (await attempt(hostile, 'room-again')).returnCode).toBe(0);
  });

  it('may be more for a device with limits of its own', async () => {
    const device = await home.device();
    const path = `/care-homes/${home.locationId}/devices/${device.id}`;
    await home.api.json('PATCH', path, { limits: { connections: 4 } });
    const open = () => RawClient.connect(home.gateway, device);
    const held = await Promise.all([open(), open(), open(), open()]);
    const refused = await attempt(device, 'fifth');
    expect(refused.returnCode).toBe(UNAVAILABLE);
    for (const client of [...held, refused.client]) client.vanish();
  });

  it('are free again when their clients broke off before admission', async () => {
    const device = await home.device();
    for (let attempts = 0; attempts < 10; attempts++) {
      const client = await RawClient.open(home.gateway);
      // The bytes after CONNECT violate MQTT, and end the connection while CONNECT is being answered.
      const connect = generate(connectPacket(credentials(device)));
      client.stream.write(Buffer.concat([connect, Buffer.from([0xf7, 0x89, 0xaf, 0xcb, 0xf1])]));
      await client.closed();
    }
    expect((await attempt(device, 'after-them')).returnCode).toBe(0);
  });

  it('are taken over within the quota by client id', async () => {
    const device = await home.device();
    const clientIds = ['over-1', 'over-2', 'over-3'].map((name) => `${device.id}-${name}`);
    for (let round = 0; round < 3; round++) {
      for (const clientId of clientIds) {
        expect((await attempt(device, clientId)).returnCode).toBe(0);
      }
    }
  });

  it('give way to a new one once they are half-open, having missed their keep-alive', async () => {
    const device = await home.device();
    const options = { keepalive: 8 };
    const open = () => RawClient.connect(home.gateway, device, options);
    const [gone, ...alive] = await Promise.all([open(), open(), open()]);
    const pings = setInterval(() => {
      for (const client of alive) client.send({ cmd: 'pingreq' });
    }, 500);
    // After the keep-alive, but before one and a half keep-alives, when the gateway would end it anyway.
    const isAdmitted = async () => (await attempt(device, 'after-the-cut')).returnCode === 0;
    expect(await isAdmitted()).toBe(false);
    let wasOpen = false;
    const isAdmittedBeside = () => {
      wasOpen = gone?.isClosed === false;
      return isAdmitted();
    };
    await expect.poll(isAdmittedBeside, { interval: 100 }).toBe(true);
    expect(wasOpen).toBe(true);
    await gone?.closed();
    clearInterval(pings);
    for (const client of alive) expect(client.isClosed).toBe(false);
    for (const client of alive) client.vanish();
  });
});

describe('the persistent sessions of one principal', () => {
  it('of a device: a new one replaces the one that has been away the longest', async () => {
    const device = await home.device();
    const commands = `devices/${device.id}/commands/#`;
    for (const clientId of ['s-1', 's-2', 's-3']) await comeAndGo(device, clientId, commands);
    expect(await isPresent(device, 's-3')).toBe(true);
    expect(await isPresent(device, 's-2')).toBe(true);
    expect(await isPresent(device, 's-1')).toBe(false);
  });

  it('of a token: a new one is refused rather than losing a backlog or a subscription', async () => {
    const nurse = await home.api.viewer(home.locationId);
    const device = await home.device();
    const filter = home.filter(device, 'alarms/#');
    for (const clientId of ['n-1', 'n-2']) await comeAndGo(nurse, clientId, filter);
    const sensor = await RawClient.connect(home.gateway, device);
    await sensor.publish(`devices/${device.id}/alarms`, '{"kind":"fall"}', 1);
    const refused = await attempt(nurse, 'n-3', false);
    expect(refused.returnCode).toBe(UNAVAILABLE);
    expect((await attempt(nurse, 'n-4', true)).returnCode).toBe(0);
    const options = { clientId: 'n-1', clean: false };
    const back = await Subscriber.connect(home.gateway, nurse, options);
    await back.untilCount(1);
    await back.end();
    sensor.vanish();
  });

  it('of a token: one that holds nothing makes room', async () => {
    const nurse = await home.api.viewer(home.locationId);
    const filter = home.filter(await home.device());
    await comeAndGo(nurse, 'holds', filter);
    await comeAndGo(nurse, 'holds-nothing');
    await comeAndGo(nurse, 'new', filter);
    expect(await isPresent(nurse, 'holds')).toBe(true);
    expect(await isPresent(nurse, 'new')).toBe(true);
    expect((await attempt(nurse, 'holds-nothing', false)).returnCode).toBe(UNAVAILABLE);
  });

  it('are not given up while in use', async () => {
    const device = await home.device();
    const held = await Promise.all(
      ['u-1', 'u-2'].map((clientId) =>
        RawClient.connect(home.gateway, device, { clientId, clean: false }),
      ),
    );
    expect((await attempt(device, 'u-3', false)).returnCode).toBe(UNAVAILABLE);
    for (const client of held) {
      await client.ping();
      client.vanish();
    }
  });
});

describe('the subscriptions of one principal', () => {
  it('get 0x80 beyond its quota across all its sessions, except for existing filters', async () => {
    const device = await home.device();
    const filters = (from: number, count: number) =>
      Array.from({ length: count }, (_, at) => `devices/${device.id}/commands/${from + at}`);
    const one = await RawClient.connect(home.gateway, device);
    const two = await RawClient.connect(home.gateway, device);
    expect(await one.subscribe(filters(0, 3))).toEqual([1, 1, 1]);
    expect(await two.subscribe(filters(3, 2))).toEqual([1, SUBACK_FAILURE]);
    // An existing filter may be subscribed again, with a different QoS.
    expect(await two.subscribe(filters(3, 1), 0)).toEqual([0]);
    one.send({ cmd: 'unsubscribe', messageId: 2, unsubscriptions: filters(0, 3) });
    await one.next('unsuback');
    await expect.poll(() => two.subscribe(filters(4, 1))).toEqual([1]);
    for (const client of [one, two]) client.vanish();
  });

  it('count once, even if a client repeats existing ones, or a new one twice', async () => {
    const device = await home.device();
    const filters = (...numbers: number[]) =>
      numbers.map((number) => `devices/${device.id}/commands/${number}`);
    const client = await RawClient.connect(home.gateway, device);
    expect(await client.subscribe(filters(1, 2, 3))).toEqual([1, 1, 1]);
    const again = await client.subscribe(filters(1, 2, 3, 4, 4, 5));
    expect(again).toEqual([1, 1, 1, 1, 1, SUBACK_FAILURE]);
    client.vanish();
  });
});

describe('when the gateway has few connections left', () => {
  /** The total: 7 of 8 are for logged-in clients, and 2 of those for principals without a connection. */
  const TOTAL = 16;
  const ADMITTED = 14;

  let small: Home;

  beforeAll(async () => {
    small = await Home.start({ GATEWAY_LIMITS_TOTAL_CONNECTIONS: String(TOTAL) });
  });

  afterAll(() => small.remove());

  it('it reserves the last ones for principals without a connection', async () => {
    const hostile = await small.device();
    const held: RawClient[] = [];
    const refused = async () => {
      const client = await RawClient.open(small.gateway);
      client.send(connectPacket(credentials(hostile)));
      const isRefused = (await client.next('connack')).returnCode !== 0;
      held.push(client);
      return isRefused;
    };
    while (!(await refused()));
    expect(held.length - 1).toBe(ADMITTED - 2);
    const known = await RawClient.connect(small.gateway, small.viewer);
    const sensor = await RawClient.connect(small.gateway, await small.device());
    expect(await faultsOf(small.gateway)).toContainEqual(
      expect.stringContaining('Nearly all connections of the gateway are in use'),
    );
    for (const client of [...held, known, sensor]) client.vanish();
  });

  it('it drops clients that send no CONNECT, the oldest first', async () => {
    const silent = await Promise.all(
      Array.from({ length: 3 * TOTAL }, () => RawClient.open(small.gateway)),
    );
    const sensor = await RawClient.connect(small.gateway, await small.device());
    await sensor.ping();
    await expect.poll(() => silent.filter(({ isClosed }) => !isClosed).length).toBeLessThan(TOTAL);
    expect(await faultsOf(small.gateway)).toContainEqual(
      expect.stringContaining('without a login'),
    );
    for (const client of [...silent, sensor]) client.vanish();
  });
});
