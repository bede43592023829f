import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { connect } from '../../former/clients/mqtt-clients.js';
import { eventually } from '../../former/eventually.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { failure } from '../../http/client.js';
import { startGateway, type TestGateway } from '../../http/harness.js';

const redis = useRedis();
const HOUR_MS = 3_600_000;

const body = z.strictObject({
  deliveries: z.array(
    z.strictObject({
      destination: z.strictObject({ type: z.string(), id: z.string(), name: z.string() }),
      state: z.enum(['queued', 'delivered', 'expired', 'dropped']),
      at: z.iso.datetime(),
    }),
  ),
});

async function start(environment: Record<string, string> = {}) {
  const gateway = await startGateway(redis, { environment });
  const locationId = await gateway.createLocation();
  const deviceId = await gateway.createDevice(locationId);
  const path = `/care-homes/${locationId}/alarms`;
  const read = async (alarmId: string) =>
    body.parse((await gateway.admin('GET', `${path}/${alarmId}/deliveries`)).json).deliveries;
  const states = async (alarmId: string) =>
    (await read(alarmId))
      .map(({ destination, state }) => `${destination.name}/${destination.id} ${state}`)
      .toSorted();
  return { gateway, locationId, deviceId, path, read, states };
}

/** A durable subscriber that acknowledges everything it gets while it is connected. */
async function subscriber(gateway: TestGateway, locationId: string, name: string) {
  const { id, token } = await gateway.issueToken([{ location: locationId, role: 'viewer' }], name);
  const open = async () => {
    const session = { clientId: 'station', clean: false };
    const client = await connect(gateway.running, { username: id, password: token, ...session });
    await client.subscribeAsync('care-homes/+/devices/+/alarms/#', { qos: 1 });
    return client;
  };
  return { open, id };
}

describe('the proof of delivery', () => {
  it('shows for each destination when it got the alarm, or that it is queued', async () => {
    const { gateway, locationId, deviceId, read, states } = await start();
    const [here, away] = [
      await subscriber(gateway, locationId, 'Ward 1'),
      await subscriber(gateway, locationId, 'Ward 2'),
    ];
    await here.open();
    const second = await away.open();
    await second.endAsync();
    const before = Date.now();
    const ids = await gateway.recordAlarms(deviceId, [{ kind: 'fall' }, { kind: 'noise' }]);
    const [first = ''] = ids;
    for (const id of ids) {
      await eventually(async () =>
        expect(await states(id)).toEqual(['Ward 1/station delivered', 'Ward 2/station queued']),
      );
    }
    for (const { destination, at } of await read(first)) {
      expect(destination.type).toBe('session');
      expect(Date.parse(at)).toBeGreaterThanOrEqual(before - 1);
      expect(Date.parse(at)).toBeLessThanOrEqual(Date.now());
    }
    gateway.aheadMs += HOUR_MS;
    await away.open();
    await eventually(async () =>
      expect(await states(first)).toEqual(['Ward 1/station delivered', 'Ward 2/station delivered']),
    );
    const late = (await read(first)).find(({ destination }) => destination.name === 'Ward 2');
    expect(Date.parse(late?.at ?? '')).toBeGreaterThanOrEqual(before + HOUR_MS);
  });

  it('distinguishes the alarms of a queue from those between them', async () => {
    const { gateway, locationId, deviceId, states } = await start();
    const { id, token } = await gateway.issueToken([{ location: locationId, role: 'viewer' }], 'W');
    const session = { clientId: 'falls', clean: false };
    const client = await connect(gateway.running, { username: id, password: token, ...session });
    await client.subscribeAsync('care-homes/+/devices/+/alarms/fall', { qos: 1 });
    const isFall = (index: number) => index % 7 < 3 || index % 100 === 0;
    const ids = await gateway.recordAlarms(
      deviceId,
      Array.from({ length: 230 }, (_, index) => ({ kind: isFall(index) ? 'fall' : 'noise' })),
    );
    const last = ids.findLastIndex((_, index) => isFall(index));
    await eventually(async () =>
      expect(await states(ids[last] ?? '')).toEqual(['W/falls delivered']),
    );
    for (const [index, alarmId] of ids.entries()) {
      expect(await states(alarmId), String(index)).toEqual(
        isFall(index) ? ['W/falls delivered'] : [],
      );
    }
  });

  it('survives the session, a restart and hundreds of later alarms', async () => {
    const { gateway, locationId, deviceId, states } = await start();
    const ward = await subscriber(gateway, locationId, 'Ward 1');
    const client = await ward.open();
    const id = await gateway.recordAlarm(deviceId, { kind: 'fall' });
    const later = await gateway.recordAlarms(
      deviceId,
      Array.from({ length: 350 }, () => ({ kind: 'noise' })),
    );
    for (const one of [id, later[0] ?? '', later[99] ?? '', later[349] ?? '']) {
      await eventually(async () => expect(await states(one)).toEqual(['Ward 1/station delivered']));
    }
    await client.endAsync();
    await gateway.running.stop();
    await gateway.running.start();
    expect(await states(id)).toEqual(['Ward 1/station delivered']);
    await gateway.admin('DELETE', `/access-tokens/${ward.id}`);
    expect(await states(id)).toEqual([`${ward.id}/station delivered`]);
  });

  it('shows what left a queue unread: expired, or no longer permitted to its receiver', async () => {
    const { gateway, locationId, deviceId, states } = await start({
      GATEWAY_SESSIONS_MAX_QUEUED_HOURS: '1',
    });
    const [old, moved] = [
      await subscriber(gateway, locationId, 'Ward 1'),
      await subscriber(gateway, locationId, 'Ward 2'),
    ];
    await (await old.open()).endAsync();
    await (await moved.open()).endAsync();
    const id = await gateway.recordAlarm(deviceId, { kind: 'fall' });
    const grants = [{ location: randomUUID(), role: 'viewer' }];
    await gateway.admin('PATCH', `/access-tokens/${moved.id}`, { json: { grants } });
    await moved.open();
    await eventually(async () =>
      expect(await states(id)).toEqual(['Ward 1/station queued', 'Ward 2/station dropped']),
    );
    gateway.aheadMs += HOUR_MS + 1000;
    await eventually(async () =>
      expect(await states(id)).toEqual(['Ward 1/station expired', 'Ward 2/station dropped']),
    );
  });

  it('is removed with its alarms', async () => {
    const { gateway, locationId, deviceId, states } = await start({
      GATEWAY_HISTORY_RETENTION_DAYS: '1',
      GATEWAY_SESSIONS_MAX_QUEUED_HOURS: '1',
    });
    await (await subscriber(gateway, locationId, 'Ward 1')).open();
    const ids = await gateway.recordAlarms(
      deviceId,
      Array.from({ length: 250 }, () => ({ kind: 'noise' })),
    );
    const last = ids.at(-1) ?? '';
    await eventually(async () => expect(await states(last)).toEqual(['Ward 1/station delivered']));
    const pieces = () => gateway.redis.keys(`${gateway.storeKeys.proofPrefix}*`);
    expect(await pieces()).toHaveLength(3);
    gateway.aheadMs += 25 * HOUR_MS;
    await gateway.running.stop();
    await gateway.running.start();
    const kept = await gateway.recordAlarm(deviceId, { kind: 'fall' });
    await eventually(async () => expect((await pieces()).length).toBeLessThanOrEqual(1));
    expect((await gateway.admin('GET', `/care-homes/${locationId}/alarms/${kept}`)).status).toBe(
      200,
    );
  });

  it('is visible only to those who may see the alarm', async () => {
    const { gateway, locationId, deviceId, path } = await start();
    const { groupId } = await gateway.placeInGroup(locationId, deviceId);
    const inGroup = await gateway.recordAlarm(deviceId, { kind: 'fall' });
    await gateway.moveDevice(locationId, deviceId, { targetRoomId: null });
    const outside = await gateway.recordAlarm(deviceId, { kind: 'fall' });
    const grants = [{ location: locationId, group: groupId, role: 'viewer' as const }];
    const token = await gateway.createToken(grants);
    const asked = (id: string) => gateway.call('GET', `${path}/${id}/deliveries`, { token });
    expect((await asked(inGroup)).json).toEqual({ deliveries: [] });
    expect(failure(await asked(outside))).toBe('403 forbidden');
    expect(failure(await asked(randomUUID()))).toBe('403 forbidden');
    const unknown = await gateway.admin('GET', `${path}/${randomUUID()}/deliveries`);
    expect(failure(unknown)).toBe('404 alarm-not-found');
  });
});
