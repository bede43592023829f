import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { connect } from '../../former/clients/mqtt-clients.js';
import { eventually } from '../../former/eventually.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { startGateway, type TestGateway } from '../../http/harness.js';

const redis = useRedis();
const MINUTE_MS = 60_000;
const NURSE = { name: 'nurse', afterSeconds: 60 };
const MANAGER = { name: 'manager', afterSeconds: 180, kinds: ['fall'] };

const escalatedBody = z.looseObject({
  id: z.string(),
  kind: z.string(),
  escalation: z.strictObject({ name: z.string(), afterSeconds: z.number() }),
});

async function start(escalations: readonly object[] = [NURSE, MANAGER]) {
  const environment = {
    GATEWAY_SUPERVISION_SILENT_AFTER_SECONDS: 'null',
  };
  const gateway = await startGateway(redis, { environment });
  await gateway.running.stop();
  await gateway.running.configure({ escalations });
  await gateway.running.start();
  const locationId = await gateway.createLocation();
  const deviceId = await gateway.createDevice(locationId, 'Bett 1');
  return { gateway, locationId, deviceId, ...(await nurseCall(gateway, locationId)) };
}

/** A durable nurse call, and the escalations that it got: alarm and name. */
async function nurseCall(gateway: TestGateway, locationId: string) {
  const { id, token } = await gateway.issueToken([{ location: locationId, role: 'responder' }]);
  const received: [string, string][] = [];
  const texts: string[] = [];
  const open = async () => {
    const session = { clientId: 'nurse', clean: false };
    const client = await connect(gateway.running, { username: id, password: token, ...session });
    client.on('message', (topic, payload) => {
      const escalated = escalatedBody.parse(JSON.parse(payload.toString()));
      expect(topic.split('/').slice(4)).toEqual(['escalations', escalated.escalation.name]);
      received.push([escalated.id, escalated.escalation.name]);
      texts.push(payload.toString());
    });
    await client.subscribeAsync('care-homes/+/devices/+/escalations/+', { qos: 1 });
    return client;
  };
  const client = await open();
  const path = `/care-homes/${locationId}/alarms`;
  const give = (alarmId: string, state: 'acknowledge' | 'resolve') =>
    gateway.call('POST', `${path}/${alarmId}/${state}`, { token });
  return { received, texts, open, client, give };
}

async function dueCount(gateway: TestGateway): Promise<number> {
  return await gateway.redis.zcard(gateway.storeKeys.escalationsDue);
}

describe('an escalation', () => {
  it('repeats an unacknowledged alarm in its original form, once for each name', async () => {
    const { gateway, locationId, deviceId, received, texts } = await start();
    await gateway.placeInGroup(locationId, deviceId);
    const alarm = { kind: 'fall', detectedAt: '2026-01-01T00:00:00Z', confidence: 0.97 };
    const id = await gateway.recordAlarm(deviceId, alarm);
    await gateway.admin('PATCH', `/care-homes/${locationId}/devices/${deviceId}`, {
      json: { name: 'elsewhere' },
    });
    gateway.aheadMs += MINUTE_MS;
    await eventually(() => expect(received).toEqual([[id, 'nurse']]));
    gateway.aheadMs += 2 * MINUTE_MS;
    await eventually(() =>
      expect(received).toEqual([
        [id, 'nurse'],
        [id, 'manager'],
      ]),
    );
    expect(JSON.parse(texts[0] ?? '')).toMatchObject({
      id,
      kind: 'fall',
      detectedAt: '2026-01-01T00:00:00.000Z',
      data: { confidence: 0.97 },
      device: { id: deviceId, name: 'Bett 1' },
      room: { name: 'Zimmer 1' },
      escalation: NURSE,
    });
    expect(await dueCount(gateway)).toBe(0);
    const path = `/care-homes/${locationId}/alarms`;
    const listed = { id, escalations: ['nurse', 'manager'] };
    expect((await gateway.admin('GET', path)).json).toMatchObject({ events: [listed] });
    expect((await gateway.admin('GET', `${path}/${id}`)).json).toMatchObject(listed);
    gateway.aheadMs += 60 * MINUTE_MS;
    const last = await gateway.recordAlarm(deviceId, { kind: 'noise' });
    gateway.aheadMs += MINUTE_MS;
    await eventually(() => expect(received.at(-1)).toEqual([last, 'nurse']));
    expect(received).toHaveLength(3);
  });

  it('never happens for an alarm acknowledged or resolved in time', async () => {
    const { gateway, deviceId, received, give } = await start();
    const acknowledged = await gateway.recordAlarm(deviceId, { kind: 'fall' });
    const resolved = await gateway.recordAlarm(deviceId, { kind: 'fall' });
    const open = await gateway.recordAlarm(deviceId, { kind: 'fall' });
    gateway.aheadMs += MINUTE_MS / 2;
    expect((await give(acknowledged, 'acknowledge')).status).toBe(200);
    expect((await give(resolved, 'resolve')).status).toBe(200);
    gateway.aheadMs += MINUTE_MS;
    await eventually(() => expect(received).toEqual([[open, 'nurse']]));
    expect((await give(open, 'acknowledge')).status).toBe(200);
    gateway.aheadMs += 3 * MINUTE_MS;
    await eventually(async () => expect(await dueCount(gateway)).toBe(0));
    expect(received).toHaveLength(1);
  });

  it('applies to its kinds and locations, and to a test only if a device marked it as one', async () => {
    const { gateway, locationId, deviceId } = await start([]);
    const elsewhere = await gateway.createLocation('Haus Eiche');
    const other = await gateway.createDevice(elsewhere);
    await gateway.running.stop();
    const here = { name: 'here', afterSeconds: 60, locations: [locationId.toUpperCase()] };
    await gateway.running.configure({ escalations: [here, { ...NURSE, kinds: ['noise'] }] });
    await gateway.running.start();
    const { received } = await nurseCall(gateway, locationId);
    const fall = await gateway.recordAlarm(deviceId, { kind: 'fall' });
    const noise = await gateway.recordAlarm(deviceId, { kind: 'noise' });
    const called = await gateway.recordAlarm(deviceId, { kind: 'fall', test: true });
    const test = `/care-homes/${locationId}/devices/${deviceId}/test-alarm`;
    await gateway.admin('POST', test, { json: { kind: 'noise' } });
    await gateway.recordAlarm(other, { kind: 'fall' });
    expect(await dueCount(gateway)).toBe(4);
    gateway.aheadMs += MINUTE_MS;
    await eventually(() => expect(received).toHaveLength(4));
    expect(received.toSorted()).toEqual(
      [
        [fall, 'here'],
        [called, 'here'],
        [noise, 'here'],
        [noise, 'nurse'],
      ].toSorted(),
    );
  });

  it('happens after a restart, reaches those who were away, and is skipped once its name is gone', async () => {
    const { gateway, deviceId, received, client, open } = await start();
    const id = await gateway.recordAlarm(deviceId, { kind: 'fall' });
    await client.endAsync();
    await gateway.running.stop();
    await gateway.running.configure({ escalations: [NURSE] });
    await gateway.running.start();
    gateway.aheadMs += 10 * MINUTE_MS;
    await eventually(async () => expect(await dueCount(gateway)).toBe(0));
    await open();
    await eventually(() => expect(received).toEqual([[id, 'nurse']]));
  });

  it('happens once when the store does not answer for a while', async () => {
    const { gateway, deviceId, received } = await start([NURSE]);
    const ids = await gateway.recordAlarms(
      deviceId,
      Array.from({ length: 50 }, () => ({ kind: 'fall' })),
    );
    await gateway.redis.client('PAUSE', 5_000, 'WRITE');
    gateway.aheadMs += MINUTE_MS;
    await eventually(() => expect(received).toHaveLength(50));
    expect(received.map(([id]) => id).toSorted()).toEqual(ids.toSorted());
    expect(await gateway.redis.zcard(gateway.storeKeys.escalationsMade)).toBe(50);
  });

  it('happens for thousands at the same second', async () => {
    const { gateway, deviceId, received } = await start([NURSE]);
    const ids = await gateway.recordAlarms(
      deviceId,
      Array.from({ length: 10_000 }, () => ({ kind: 'fall' })),
    );
    gateway.aheadMs += MINUTE_MS;
    await eventually(() => expect(received).toHaveLength(10_000));
    expect(received.map(([id]) => id).toSorted()).toEqual(ids.toSorted());
  });
});
