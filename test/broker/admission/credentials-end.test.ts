import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestDevice, TestToken } from '../../former/clients/api.js';
import { connectionListOf } from '../../former/clients/connection-list.js';
import { connectPacket, credentials, RawClient } from '../../former/clients/raw-client.js';
import { Home } from '../../former/home.js';
import { Store } from '../../former/stored/store.js';

const BAD_CREDENTIALS = 4;

let home: Home;

beforeAll(async () => {
  home = await Home.start();
});

afterAll(() => home.remove());

async function returnCodeFor(who: TestDevice | TestToken, clientId?: string) {
  const client = await RawClient.open(home.gateway);
  client.send(connectPacket({ ...credentials(who), ...(clientId !== undefined && { clientId }) }));
  const { returnCode } = await client.next('connack');
  client.vanish();
  return returnCode;
}

function pathOf(device: TestDevice): string {
  return `/care-homes/${device.locationId}/devices/${device.id}`;
}

describe('an access token that is deleted', () => {
  it('has all its connections closed, and no others', async () => {
    const token = await home.api.viewer(home.locationId);
    const live = await Promise.all([1, 2, 3].map(() => RawClient.connect(home.gateway, token)));
    const other = await RawClient.connect(home.gateway, home.viewer);
    await home.api.json('DELETE', `/access-tokens/${token.id}`);
    await Promise.all(live.map((client) => client.closed()));
    await other.ping();
    other.vanish();
    expect(await returnCodeFor(token)).toBe(BAD_CREDENTIALS);
  });

  it('leaves no session: its client id is free, and its backlog is gone', async () => {
    const token = await home.api.viewer(home.locationId);
    const clientId = 'session-of-a-deleted-token';
    const client = await RawClient.connect(home.gateway, token, { clientId, clean: false });
    await client.subscribe([`care-homes/${home.locationId}/#`]);
    const store = await Store.of(home.gateway);
    expect(await store.keys(`*${clientId}*`)).not.toEqual([]);
    await home.api.json('DELETE', `/access-tokens/${token.id}`);
    await client.closed();
    expect(await returnCodeFor(home.viewer, clientId)).toBe(0);
    await expect.poll(() => store.keys(`*${clientId}*`)).toEqual([]);
    store.close();
  });

  it('receives no further messages', async () => {
    const token = await home.api.viewer(home.locationId);
    const device = await home.device();
    const nurse = await RawClient.connect(home.gateway, token);
    await nurse.subscribe([home.filter(device, 'alarms/#')]);
    const sensor = await RawClient.connect(home.gateway, device);
    await home.api.json('DELETE', `/access-tokens/${token.id}`);
    await sensor.publish(`devices/${device.id}/alarms`, '{"kind":"fall"}', 1);
    await nurse.closed();
    expect(nurse.packets.map(({ cmd }) => cmd)).toEqual(['connack', 'suback']);
    sensor.vanish();
  });
});

describe('an access token that expires', () => {
  it('has its connections closed, keeps its sessions for a clock that is wrong, and ends no others', async () => {
    const grants = [{ location: home.locationId, role: 'viewer' }];
    const expiresAt = new Date(Date.now() + 5_000).toISOString();
    const token = await home.api.createToken(grants, 'short', expiresAt);
    const [absent, connected] = ['absent-at-expiry', 'connected-at-expiry'];
    const left = await RawClient.connect(home.gateway, token, { clientId: absent, clean: false });
    await left.subscribe([`care-homes/${home.locationId}/#`]);
    left.vanish();
    const live = await RawClient.connect(home.gateway, token, {
      clientId: connected,
      clean: false,
    });
    const kept = { clientId: 'kept-at-expiry', clean: false };
    const other = await RawClient.connect(home.gateway, home.viewer, kept);
    const store = await Store.of(home.gateway);
    const keysOf = (clientId: string) => store.keys(`*${clientId}*`);
    await live.closed();
    await other.ping();
    other.vanish();
    expect(await returnCodeFor(token)).toBe(BAD_CREDENTIALS);
    for (const clientId of [absent, connected, kept.clientId]) {
      expect(await keysOf(clientId)).not.toEqual([]);
    }
    await home.api.json('DELETE', `/access-tokens/${token.id}`);
    await expect.poll(() => keysOf(absent)).toEqual([]);
    await expect.poll(() => keysOf(connected)).toEqual([]);
    expect(await keysOf(kept.clientId)).not.toEqual([]);
    store.close();
  });
});

describe('a device whose secret is replaced', () => {
  it('has its connections closed, and connects with the new one only', async () => {
    const device = await home.device();
    const live = await RawClient.connect(home.gateway, device);
    const { secret } = Object(await home.api.json('POST', `${pathOf(device)}/secret`));
    await live.closed();
    expect(await returnCodeFor(device)).toBe(BAD_CREDENTIALS);
    expect(await returnCodeFor({ ...device, secret: String(secret) })).toBe(0);
  });

  it('keeps its session and backlog', async () => {
    const device = await home.device();
    const session = { clientId: device.id, clean: false };
    const live = await RawClient.connect(home.gateway, device, session);
    await live.subscribe([`devices/${device.id}/commands/#`]);
    const { secret } = Object(await home.api.json('POST', `${pathOf(device)}/secret`));
    await live.closed();
    const manager = await RawClient.connect(home.gateway, home.manager);
    await manager.publish(home.filter(device, 'commands/x'), '1', 1);
    const renewed = { ...device, secret: String(secret) };
    const again = await RawClient.connect(home.gateway, renewed, session);
    expect((await again.next('publish')).topic).toBe(`devices/${device.id}/commands/x`);
    for (const client of [again, manager]) client.vanish();
  });
});

describe('a device that is deleted', () => {
  it('has its connections closed, and cannot connect again', async () => {
    const device = await home.device();
    const live = await RawClient.connect(home.gateway, device);
    await live.publish(`devices/${device.id}/alarms`, '{"kind":"fall"}', 1);
    expect((await home.api.request('DELETE', pathOf(device))).status).toBe(204);
    await live.closed();
    expect(await returnCodeFor(device)).toBe(BAD_CREDENTIALS);
  });

  it('frees its client id for others', async () => {
    const device = await home.device();
    const session = { clientId: `of-${device.id}`, clean: false };
    const live = await RawClient.connect(home.gateway, device, session);
    await home.api.request('DELETE', pathOf(device));
    await live.closed();
    expect(await returnCodeFor(home.viewer, session.clientId)).toBe(0);
  });
});

describe('a client whose CONNECT is held back', () => {
  const BYTES_PER_SECOND = 1_000;
  const perSecond = { BYTES_PER_SECOND, BYTE_BURST: BYTES_PER_SECOND };
  let slow: Home;

  beforeAll(async () => {
    const limits = ['TOKEN', 'DEVICE'].flatMap((who) =>
      Object.entries(perSecond).map(([name, limit]) => [
        `GATEWAY_LIMITS_${who}_${name}`,
        `${limit}`,
      ]),
    );
    slow = await Home.start(Object.fromEntries(limits));
  });

  afterAll(() => slow.remove());

  async function timesHeldBack(): Promise<number> {
    const text = await (await fetch(`${slow.gateway.httpUrl}/metrics`)).text();
    return Number(/^gateway_held_back_total (\d+)$/m.exec(text)?.[1]);
  }

  /** A client that waits some eight seconds for its CONNACK, because of the bytes of an earlier will. */
  async function heldClient(who: TestDevice | TestToken, clientId: string): Promise<RawClient> {
    const topic = `devices/${who.id}/gone`;
    const will = {
      topic,
      payload: Buffer.alloc(9 * BYTES_PER_SECOND),
      qos: 0,
      retain: false,
    } as const;
    const earlier = await RawClient.connect(slow.gateway, who, {
      clientId: `before-${clientId}`,
      will,
    });
    earlier.vanish();
    await expect.poll(() => connectionListOf(slow.gateway)).toEqual([]);
    const before = await timesHeldBack();
    const held = await RawClient.open(slow.gateway);
    held.send(connectPacket({ ...credentials(who), clientId, clean: false }));
    // Nobody else is connected.
    await expect.poll(timesHeldBack).toBe(before + 1);
    return held;
  }

  it('is disconnected, and leaves no session, when its access token is deleted', async () => {
    const token = await slow.api.viewer(slow.locationId);
    const clientId = 'held-of-a-deleted-token';
    const held = await heldClient(token, clientId);
    await slow.api.json('DELETE', `/access-tokens/${token.id}`);
    await held.closed();
    expect(held.packets).toEqual([]);
    const store = await Store.of(slow.gateway);
    expect(await store.keys(`*${clientId}*`)).toEqual([]);
    store.close();
  });

  it('is disconnected when the secret of its device is replaced', async () => {
    const device = await slow.device();
    const held = await heldClient(device, 'held-of-an-old-secret');
    await slow.api.json('POST', `${pathOf(device)}/secret`);
    await held.closed();
    expect(held.packets).toEqual([]);
  });
});
