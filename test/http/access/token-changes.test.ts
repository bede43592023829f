import type { MqttClient } from 'mqtt';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { connect } from '../../former/clients/mqtt-clients.js';
import { eventually } from '../../former/eventually.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { failure } from '../client.js';
import { startGateway, type TestGateway, useGateway } from '../harness.js';

const redis = useRedis();
const running = useGateway(redis);

const tokenBody = z.looseObject({
  name: z.string(),
  grants: z.array(z.unknown()),
  expiresAt: z.string().nullable(),
  lastUsedAt: z.string().nullable(),
});

/** Topic and payload of the next alarm. */
function nextAlarm(client: MqttClient): Promise<readonly [string, string]> {
  return new Promise((resolve) => {
    client.on('message', (topic, payload) => {
      if (topic.includes('/alarms/')) resolve([topic, payload.toString()]);
    });
  });
}

async function shown(gateway: TestGateway, id: string) {
  const { json } = await gateway.admin('GET', '/access-tokens');
  const all = z.array(tokenBody.extend({ id: z.string() })).parse(json);
  return all.find((token) => token.id === id);
}

describe('changing an access token', () => {
  it('keeps fields that are not named, and refuses what would be invalid in a new token', async () => {
    const gateway = running();
    const grants = [{ location: '*', role: 'viewer' }] as const;
    const { id } = await gateway.issueToken(grants, 'board');
    const change = (json: object) => gateway.admin('PATCH', `/access-tokens/${id}`, { json });
    const expiresAt = '2100-01-01T00:00:00.000Z';
    expect((await change({ name: ' wall ' })).json).toMatchObject({ name: 'wall', grants });
    expect((await change({ expiresAt })).json).toMatchObject({ name: 'wall', grants, expiresAt });
    const manager = [{ location: '*', role: 'manager' }];
    expect((await change({ grants: manager })).json).toMatchObject({ grants: manager, expiresAt });
    expect((await change({ expiresAt: null })).json).toMatchObject({ expiresAt: null });
    const before = await shown(gateway, id);
    for (const wrong of [
      {},
      { name: '' },
      { grants: [] },
      { grants: [{ location: 'x', role: 'viewer' }] },
      { expiresAt: '2020-01-01T00:00:00Z' },
      { token: 'x' },
    ]) {
      expect(failure(await change(wrong)), JSON.stringify(wrong)).toBe('400 invalid-request');
    }
    expect(await shown(gateway, id)).toEqual(before);
    expect(failure(await gateway.admin('PATCH', '/access-tokens/admin', { json: {} }))).toBe(
      '400 invalid-request',
    );
  });

  it('applies the new grants immediately, over HTTP and on open connections', async () => {
    const gateway = running();
    const [one, other] = [await gateway.createLocation(), await gateway.createLocation()];
    const devices = [await gateway.createDevice(one), await gateway.createDevice(other)];
    const { id, token } = await gateway.issueToken([{ location: one, role: 'viewer' }]);
    const client = await connect(gateway.running, { username: id, password: token });
    await client.subscribeAsync('care-homes/+/devices/+/alarms/#', { qos: 1 });
    const received: string[] = [];
    client.on('message', (topic) => received.push(topic.split('/')[3] ?? ''));
    const raise = async () => {
      for (const device of devices) await gateway.recordAlarm(device, { kind: 'fall' });
    };
    await raise();
    const grants = [{ location: other, role: 'viewer' }];
    await gateway.admin('PATCH', `/access-tokens/${id}`, { json: { grants } });
    const homes = await gateway.call('GET', '/care-homes', { token });
    expect(homes.json).toMatchObject([{ id: other }]);
    await raise();
    await eventually(() => expect(received).toHaveLength(2));
    expect(received).toEqual(devices);
    expect(client.connected).toBe(true);
    await client.endAsync();
  });

  it('revives an expired token by postponing its expiry', async () => {
    const gateway = await startGateway(redis);
    const expiresAt = new Date(Date.now() + 60_000).toISOString();
    const json = { name: 'x', grants: [{ location: '*', role: 'viewer' }], expiresAt };
    const created = await gateway.admin('POST', '/access-tokens', { json });
    const { id, token } = z.looseObject({ id: z.string(), token: z.string() }).parse(created.json);
    const current = () => gateway.call('GET', '/access-tokens/current', { token });
    gateway.aheadMs = 61_000;
    expect(failure(await current())).toBe('401 unauthenticated');
    const later = new Date(Date.now() + 600_000).toISOString();
    await gateway.admin('PATCH', `/access-tokens/${id}`, { json: { expiresAt: later } });
    expect((await current()).status).toBe(200);
  });

  it('replaces the secret, ends the connections of the old one, and keeps the session', async () => {
    const gateway = running();
    const location = await gateway.createLocation();
    const device = await gateway.createDevice(location);
    const { id, token } = await gateway.issueToken([{ location, role: 'viewer' }]);
    const session = { clientId: 'station', clean: false, reconnectPeriod: 0 };
    const client = await connect(gateway.running, { username: id, password: token, ...session });
    await client.subscribeAsync(`care-homes/${location}/#`, { qos: 1 });
    const closed = new Promise<void>((resolve) => client.once('close', () => resolve()));
    const answer = await gateway.admin('POST', `/access-tokens/${id}/secret`);
    expect(answer.status).toBe(200);
    const renewed = z.looseObject({ id: z.string(), token: z.string().min(40) }).parse(answer.json);
    expect(renewed.id).toBe(id);
    await closed;
    const asked = (with_: string) => gateway.call('GET', '/care-homes', { token: with_ });
    expect(failure(await asked(token))).toBe('401 unauthenticated');
    expect((await asked(renewed.token)).status).toBe(200);

    const alarm = await gateway.recordAlarm(device, { kind: 'fall' });
    const password = renewed.token;
    const again = await connect(gateway.running, { username: id, password, ...session });
    const [topic, text] = await nextAlarm(again);
    expect(topic).toBe(`care-homes/${location}/devices/${device}/alarms/fall`);
    expect(text).toContain(alarm);
    await again.endAsync();
  });
});

describe('the last use of an access token', () => {
  it('is shown, over HTTP and MQTT, and survives a restart', async () => {
    const gateway = await startGateway(redis);
    const grants = [{ location: '*', role: 'viewer' }] as const;
    const [http, mqtt, unused] = [
      await gateway.issueToken(grants),
      await gateway.issueToken(grants),
      await gateway.issueToken(grants),
    ];
    const before = Date.now();
    await gateway.call('GET', '/care-homes', { token: http.token });
    const client = await connect(gateway.running, {
      username: mqtt.id,
      password: mqtt.token,
    });
    await client.endAsync();
    const times = async () => {
      const all = await Promise.all([http, mqtt].map(({ id }) => shown(gateway, id)));
      return all.map((token) => token?.lastUsedAt);
    };
    const used = await times();
    for (const at of used) expect(Date.parse(at ?? '')).toBeGreaterThanOrEqual(before);
    expect((await shown(gateway, unused.id))?.lastUsedAt).toBeNull();
    await gateway.running.stop();
    await gateway.running.start();
    expect(await times()).toEqual(used);
    await gateway.admin('DELETE', `/access-tokens/${http.id}`);
    expect(await gateway.redis.hkeys(gateway.storeKeys.tokenUse)).toEqual([mqtt.id]);
  });
});
