import type { MqttClient } from 'mqtt';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { connect } from '../../former/clients/mqtt-clients.js';
import { eventually } from '../../former/eventually.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { startGateway, type TestGateway } from '../../http/harness.js';

const redis = useRedis();
const MINUTE_MS = 60_000;

const eventBody = z.strictObject({
  id: z.guid(),
  state: z.enum(['silent', 'heard']),
  since: z.iso.datetime(),
  lastSeenAt: z.iso.datetime(),
  device: z.looseObject({ id: z.string() }),
  location: z.looseObject({ id: z.string() }),
  room: z.unknown(),
  group: z.unknown(),
  customData: z.unknown(),
});
const faultsBody = z.looseObject({
  faults: z.array(
    z.looseObject({
      code: z.string(),
      message: z.string(),
      subject: z.looseObject({ id: z.string() }).optional(),
    }),
  ),
});
type Event = z.infer<typeof eventBody>;
const listBody = z.array(
  z.strictObject({
    device: z.looseObject({ id: z.string() }),
    room: z.unknown(),
    group: z.unknown(),
    since: z.string(),
    lastSeenAt: z.string(),
  }),
);

async function start(environment: Record<string, string> = {}) {
  const gateway = await startGateway(redis, {
    environment: { GATEWAY_SUPERVISION_SILENT_AFTER_SECONDS: '60', ...environment },
  });
  const locationId = await gateway.createLocation();
  const watch = await watcher(gateway, locationId);
  return { gateway, locationId, ...watch };
}

/** A nurse call with a durable session, and the supervision events that it got. */
async function watcher(gateway: TestGateway, locationId: string) {
  const { id, token } = await gateway.issueToken([{ location: locationId, role: 'viewer' }]);
  const events: Event[] = [];
  const open = async (): Promise<MqttClient> => {
    const credentials = { username: id, password: token, clientId: 'nurse', clean: false };
    const client = await connect(gateway.running, credentials);
    client.on('message', (topic, payload) => {
      const event = eventBody.parse(JSON.parse(payload.toString()));
      const { location, device } = event;
      expect(topic).toBe(`care-homes/${location.id}/devices/${device.id}/supervision`);
      events.push(event);
    });
    await client.subscribeAsync('care-homes/+/devices/+/supervision', { qos: 1 });
    return client;
  };
  return { events, open, client: await open() };
}

/** Has the device send one packet. */
async function hear(gateway: TestGateway, deviceId: string): Promise<void> {
  const client = await gateway.connectDevice(deviceId);
  await client.endAsync();
}

async function silentIn(gateway: TestGateway, locationId: string): Promise<string[]> {
  const { json } = await gateway.admin('GET', `/care-homes/${locationId}/supervision`);
  return listBody.parse(json).map(({ device }) => device.id);
}

/** The silent devices in `/readyz`: the id of the subject, or the message if no device is named. */
async function silentFaults(gateway: TestGateway): Promise<string[]> {
  const { json } = await gateway.admin('GET', '/readyz');
  return faultsBody
    .parse(json)
    .faults.filter(({ code }) => code === 'device-silent')
    .map(({ subject, message }) => subject?.id ?? message);
}

async function told(events: readonly Event[], expected: readonly [string, string][]) {
  await eventually(() => expect(events).toHaveLength(expected.length));
  expect(events.map(({ state, device }) => [state, device.id])).toEqual(expected);
}

describe('supervision', () => {
  it('reports once that a device is silent, and once that it is heard again', async () => {
    const { gateway, locationId, events } = await start();
    const deviceId = await gateway.createDevice(locationId, 'Bett 1');
    await gateway.placeInGroup(locationId, deviceId);
    const neverHeard = await gateway.createDevice(locationId, 'in its box');
    const before = Date.now();
    await hear(gateway, deviceId);
    gateway.aheadMs += MINUTE_MS;
    await told(events, [['silent', deviceId]]);
    const [silent] = events;
    expect(Date.parse(silent?.lastSeenAt ?? '')).toBeLessThan(before + MINUTE_MS / 2);
    expect(Date.parse(silent?.since ?? '')).toBeGreaterThanOrEqual(before + MINUTE_MS);
    expect(silent).toMatchObject({ device: { name: 'Bett 1' }, room: { name: 'Zimmer 1' } });
    expect(await silentIn(gateway, locationId)).toEqual([deviceId]);
    await eventually(async () => expect(await silentFaults(gateway)).toEqual([deviceId]));

    gateway.aheadMs += 10 * MINUTE_MS;
    await hear(gateway, deviceId);
    await told(events, [
      ['silent', deviceId],
      ['heard', deviceId],
    ]);
    expect(await silentIn(gateway, locationId)).toEqual([]);
    await eventually(async () => expect(await silentFaults(gateway)).toEqual([]));
    expect(new Set(events.map(({ id }) => id)).size).toBe(2);
    expect(await silentIn(gateway, locationId)).not.toContain(neverHeard);
  });

  it('counts the last message of a battery sensor that goes back to sleep immediately', async () => {
    const { gateway, locationId, events } = await start();
    const deviceId = await gateway.createDevice(locationId, 'Türkontakt');
    await hear(gateway, deviceId);
    gateway.aheadMs += MINUTE_MS - 10_000;
    const sentAtMs = Date.now() + gateway.aheadMs;
    await gateway.publish(deviceId, 'contact', ['{"open":false}']);
    gateway.aheadMs += MINUTE_MS;
    await told(events, [['silent', deviceId]]);
    expect(Date.parse(events[0]?.lastSeenAt ?? '')).toBeGreaterThanOrEqual(sentAtMs);
    expect(Date.parse(events[0]?.since ?? '')).toBeGreaterThanOrEqual(sentAtMs + MINUTE_MS);
  });

  it('does not count time when the gateway was off, and reports nothing twice after a restart', async () => {
    const { gateway, locationId, events, open, client } = await start();
    const [deviceId, other] = [
      await gateway.createDevice(locationId),
      await gateway.createDevice(locationId),
    ];
    await hear(gateway, deviceId);
    gateway.aheadMs += MINUTE_MS;
    await told(events, [['silent', deviceId]]);
    await hear(gateway, other);
    client.removeAllListeners('message');
    const ended = new Promise<void>((resolve) => client.once('close', () => resolve()));
    await gateway.running.stop();
    await ended;
    gateway.aheadMs += 100 * MINUTE_MS;
    await gateway.running.start();
    await open();
    expect(await silentIn(gateway, locationId)).toEqual([deviceId]);
    gateway.aheadMs += MINUTE_MS / 2;
    await hear(gateway, deviceId);
    await told(events, [
      ['silent', deviceId],
      ['heard', deviceId],
    ]);
    gateway.aheadMs += MINUTE_MS / 2 + 1000;
    await eventually(() => expect(events).toHaveLength(3));
    expect(events[2]).toMatchObject({ state: 'silent', device: { id: other } });
  });

  it('is queued for absent subscribers, with the guarantees of an alarm', async () => {
    const { gateway, locationId, events, open, client } = await start();
    const deviceId = await gateway.createDevice(locationId);
    await hear(gateway, deviceId);
    await client.endAsync();
    gateway.aheadMs += MINUTE_MS;
    await eventually(async () => expect(await silentIn(gateway, locationId)).toEqual([deviceId]));
    await hear(gateway, deviceId);
    await eventually(async () => expect(await silentIn(gateway, locationId)).toEqual([]));
    await open();
    await told(events, [
      ['silent', deviceId],
      ['heard', deviceId],
    ]);
  });

  it('has a period for each device, which can be changed and removed', async () => {
    const { gateway, locationId, events } = await start();
    const deviceId = await gateway.createDevice(locationId);
    const path = `/care-homes/${locationId}/devices/${deviceId}`;
    const set = (silentAfterSeconds: unknown) =>
      gateway.admin('PATCH', path, { json: { supervision: { silentAfterSeconds } } });
    for (const wrong of [59, 604_801, 60.5, '60', false]) {
      expect((await set(wrong)).status, JSON.stringify(wrong)).toBe(400);
    }
    expect((await set(604_800)).json).toMatchObject({
      supervision: { silentAfterSeconds: 604_800 },
    });
    await hear(gateway, deviceId);
    gateway.aheadMs += 5 * MINUTE_MS;
    const supervised = await gateway.createDevice(locationId);
    await hear(gateway, supervised);
    gateway.aheadMs += MINUTE_MS;
    await told(events, [['silent', supervised]]);
    const taken = await set(null);
    expect(taken.json).not.toHaveProperty('supervision');
    await told(events, [
      ['silent', supervised],
      ['silent', deviceId],
    ]);
  });

  it('is off without a period, except for devices with their own', async () => {
    const { gateway, locationId, events } = await start({
      GATEWAY_SUPERVISION_SILENT_AFTER_SECONDS: 'null',
    });
    const [plain, own] = [
      await gateway.createDevice(locationId),
      await gateway.createDevice(locationId),
    ];
    const json = { supervision: { silentAfterSeconds: 60 } };
    await gateway.admin('PATCH', `/care-homes/${locationId}/devices/${own}`, { json });
    await hear(gateway, plain);
    await hear(gateway, own);
    gateway.aheadMs += 2 * MINUTE_MS;
    await told(events, [['silent', own]]);
  });

  it('follows a device to its new place, and forgets a deleted one', async () => {
    const { gateway, locationId, events } = await start();
    const other = await gateway.createLocation('Haus Eiche');
    const deviceId = await gateway.createDevice(locationId);
    await hear(gateway, deviceId);
    gateway.aheadMs += MINUTE_MS;
    await told(events, [['silent', deviceId]]);
    await gateway.moveDevice(locationId, deviceId, { targetLocationId: other });
    expect(await silentIn(gateway, locationId)).toEqual([]);
    expect(await silentIn(gateway, other)).toEqual([deviceId]);
    await gateway.admin('DELETE', `/care-homes/${other}/devices/${deviceId}`);
    expect(await silentIn(gateway, other)).toEqual([]);
    await eventually(async () => expect(await silentFaults(gateway)).toEqual([]));
    expect(await gateway.redis.hlen(gateway.storeKeys.supervision)).toBe(0);
    expect(events).toHaveLength(1);
  });

  it('sends a thousand events and reports a handful of faults when a switch dies', async () => {
    const { gateway, locationId, events } = await start();
    const deviceIds: string[] = [];
    for (let index = 0; index < 1_000; index++) {
      const deviceId = await gateway.createDevice(locationId);
      await hear(gateway, deviceId);
      deviceIds.push(deviceId);
    }
    gateway.aheadMs += MINUTE_MS;
    await eventually(() => expect(events).toHaveLength(1_000));
    expect(new Set(events.map(({ device }) => device.id))).toEqual(new Set(deviceIds));
    await eventually(async () => {
      const faults = await silentFaults(gateway);
      expect(faults).toHaveLength(4);
      expect(faults.at(-1)).toMatch(/^A device is silent: .* \(997 more\)\.$/);
    });
  });
});
