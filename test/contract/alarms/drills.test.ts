import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { connect } from '../../former/clients/mqtt-clients.js';
import { eventually } from '../../former/eventually.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { failure } from '../../http/client.js';
import { startGateway, type TestGateway } from '../../http/harness.js';

const redis = useRedis();
const MINUTE_MS = 60_000;

const drillBody = z.looseObject({
  id: z.string(),
  state: z.string(),
  alarmId: z.string(),
  by: z.unknown(),
  destinations: z.array(
    z.strictObject({
      destination: z.looseObject({ name: z.string() }),
      acknowledgedAfterMs: z.int().min(0).max(MINUTE_MS).nullable(),
    }),
  ),
  silent: z.array(z.looseObject({ id: z.string() })),
});

async function start(environment: Record<string, string> = {}) {
  const gateway = await startGateway(redis, {
    environment: { GATEWAY_SUPERVISION_SILENT_AFTER_SECONDS: '600', ...environment },
  });
  const locationId = await gateway.createLocation();
  const deviceId = await gateway.createDevice(locationId, 'Bett 1');
  const path = `/care-homes/${locationId}/drills`;
  const list = async () => z.array(drillBody).parse((await gateway.admin('GET', path)).json);
  const begin = async (json?: object) =>
    drillBody.parse((await gateway.admin('POST', path, json === undefined ? {} : { json })).json);
  return { gateway, locationId, deviceId, path, list, begin };
}

/** A durable nurse call, and the alarms that it got. */
async function nurseCall(gateway: TestGateway, locationId: string, name: string) {
  const { id, token } = await gateway.issueToken([{ location: locationId, role: 'viewer' }], name);
  const alarms: unknown[] = [];
  const open = async () => {
    const session = { clientId: name, clean: false };
    const client = await connect(gateway.running, { username: id, password: token, ...session });
    client.on('message', (_, payload) => alarms.push(JSON.parse(payload.toString())));
    await client.subscribeAsync('care-homes/+/devices/+/alarms/#', { qos: 1 });
    return client;
  };
  return { alarms, open, id };
}

async function failedDrills(gateway: TestGateway): Promise<string[]> {
  const { json } = await gateway.admin('GET', '/readyz');
  const { faults } = z
    .looseObject({
      faults: z.array(
        z.looseObject({
          code: z.string(),
          subject: z.looseObject({ name: z.string() }).optional(),
        }),
      ),
    })
    .parse(json);
  return faults.flatMap(({ code, subject }) =>
    code === 'drill-failed' ? (subject?.name ?? '') : [],
  );
}

describe('a drill', () => {
  it('is a marked alarm for everybody, and shows who acknowledged it when', async () => {
    const { gateway, locationId, deviceId, list, begin } = await start();
    const other = await gateway.createDevice(locationId, 'Bett 2');
    await (await gateway.connectDevice(other)).endAsync();
    gateway.aheadMs += 11 * MINUTE_MS;
    const [here, away] = [
      await nurseCall(gateway, locationId, 'here'),
      await nurseCall(gateway, locationId, 'away'),
    ];
    await here.open();
    await (await away.open()).endAsync();
    await eventually(async () => {
      const silent = await gateway.admin('GET', `/care-homes/${locationId}/supervision`);
      expect(silent.json).toHaveLength(1);
    });
    const begun = await begin();
    expect(begun).toMatchObject({
      state: 'running',
      by: { id: 'admin', name: 'admin' },
      device: { id: deviceId, name: 'Bett 1' },
      silent: [{ id: other, name: 'Bett 2' }],
    });
    await eventually(() => expect(here.alarms).toHaveLength(1));
    expect(here.alarms[0]).toMatchObject({
      id: begun.alarmId,
      kind: 'helpCall',
      test: true,
      device: { id: deviceId },
    });
    await eventually(async () => {
      const [drill] = await list();
      const times = drill?.destinations.map(({ destination, acknowledgedAfterMs }) => {
        return [destination.name, acknowledgedAfterMs === null];
      });
      expect(times?.toSorted()).toEqual([
        ['away', true],
        ['here', false],
      ]);
    });
    expect(await failedDrills(gateway)).toEqual([]);

    gateway.aheadMs += MINUTE_MS + 1000;
    await eventually(async () => expect(await failedDrills(gateway)).toEqual(['away']));
    expect((await list()).map(({ state }) => state)).toEqual(['failed']);
    // It acknowledges late: the drill stays failed until the next one.
    await away.open();
    await eventually(() => expect(away.alarms).toHaveLength(1));
    expect((await list()).map(({ state }) => state)).toEqual(['failed']);
    await begin({ deviceId: other });
    await eventually(async () => {
      const [drill] = await list();
      expect(drill?.destinations.map((one) => one.acknowledgedAfterMs)).not.toContain(null);
      expect(drill?.destinations).toHaveLength(2);
    });
    gateway.aheadMs += MINUTE_MS + 1000;
    await eventually(async () => expect(await failedDrills(gateway)).toEqual([]));
    expect((await list()).map(({ state }) => state)).toEqual(['passed', 'failed']);
  });

  it('of a location without a destination is a fault, until one has acknowledged', async () => {
    const { gateway, locationId, list, begin } = await start();
    await begin();
    gateway.aheadMs += MINUTE_MS + 1000;
    const { json } = await gateway.admin('GET', `/care-homes/${locationId}`);
    const { name } = z.looseObject({ name: z.string() }).parse(json);
    await eventually(async () => expect(await failedDrills(gateway)).toEqual([name]));
    expect((await list()).map(({ state }) => state)).toEqual(['failed']);
    await (await nurseCall(gateway, locationId, 'here')).open();
    await begin();
    await eventually(async () => expect(await failedDrills(gateway)).toEqual([]));
  });

  it('is distinguished from alarms in the history', async () => {
    const { gateway, locationId, deviceId, begin } = await start();
    const fall = await gateway.recordAlarm(deviceId, { kind: 'fall' });
    const { alarmId } = await begin();
    const ids = async (query: string) => {
      const path = `/care-homes/${locationId}/alarms?${query}`;
      const { json } = await gateway.admin('GET', path);
      return z
        .object({ events: z.array(z.looseObject({ id: z.string() })) })
        .parse(json)
        .events.map(({ id }) => id);
    };
    expect(await ids('')).toHaveLength(2);
    expect(await ids('test=true')).toEqual([alarmId]);
    expect(await ids('test=false')).toEqual([fall]);
    const wrong = await gateway.admin('GET', `/care-homes/${locationId}/alarms?test=1`);
    expect(failure(wrong)).toBe('400 invalid-request');
    const one = await gateway.admin('GET', `/care-homes/${locationId}/alarms/${alarmId}`);
    expect(one.json).toMatchObject({ test: true });
  });

  it('is evaluated after a restart', async () => {
    const { gateway, locationId, begin } = await start();
    const away = await nurseCall(gateway, locationId, 'away');
    await (await away.open()).endAsync();
    await begin();
    await gateway.running.stop();
    gateway.aheadMs += 5 * MINUTE_MS;
    await gateway.running.start();
    await eventually(async () => expect(await failedDrills(gateway)).toEqual(['away']));
  });

  it('keeps its result when a destination is deleted, even after a restart', async () => {
    const { gateway, locationId, list, begin } = await start();
    const away = await nurseCall(gateway, locationId, 'away');
    await (await away.open()).endAsync();
    await begin();
    gateway.aheadMs += MINUTE_MS + 1000;
    await eventually(async () => expect(await failedDrills(gateway)).toEqual(['away']));
    const [before] = await list();
    expect(before).toMatchObject({
      state: 'failed',
      destinations: [{ acknowledgedAfterMs: null }],
    });
    await gateway.admin('DELETE', `/access-tokens/${away.id}`);
    expect(await list()).toEqual([before]);
    await gateway.running.stop();
    await gateway.running.start();
    expect(await list()).toEqual([before]);
    await eventually(async () => expect(await failedDrills(gateway)).toEqual(['away']));
  });

  it('is no fault any more once its location is deleted', async () => {
    const { gateway, locationId, deviceId, begin } = await start();
    const away = await nurseCall(gateway, locationId, 'away');
    await (await away.open()).endAsync();
    await begin();
    gateway.aheadMs += MINUTE_MS + 1000;
    await eventually(async () => expect(await failedDrills(gateway)).toEqual(['away']));
    const location = `/care-homes/${locationId}`;
    await gateway.admin('DELETE', `${location}/devices/${deviceId}`);
    expect((await gateway.admin('DELETE', location)).status).toBe(204);
    await eventually(async () => expect(await failedDrills(gateway)).toEqual([]));
  });

  it('requires a device, and only the last hundred are kept', async () => {
    const { gateway, path, list, begin } = await start();
    const empty = await gateway.createLocation('empty');
    const refused = await gateway.admin('POST', `/care-homes/${empty}/drills`);
    expect(failure(refused)).toBe('409 location-without-devices');
    const json = { deviceId: empty };
    expect(failure(await gateway.admin('POST', path, { json }))).toBe('404 device-not-found');
    for (let index = 0; index < 102; index++) await begin();
    expect(await list()).toHaveLength(100);
  });

  it('runs on schedule, for its locations, once a day', async () => {
    const dueMs = (Math.floor(Date.now() / MINUTE_MS) + 3) * MINUTE_MS;
    const at = new Date(dueMs).toISOString().slice(11, 16);
    const plans = [{ at, timeZone: 'UTC' }];
    const { gateway, locationId, list } = await start({ GATEWAY_DRILLS: JSON.stringify(plans) });
    expect(await list()).toEqual([]);
    // Exactly: a machine that stalls for a minute would miss it.
    gateway.aheadMs = dueMs - Date.now();
    await eventually(async () => expect(await list()).toHaveLength(1));
    expect((await list())[0]).toMatchObject({ by: null });
    gateway.aheadMs = dueMs + 24 * 60 * MINUTE_MS - Date.now();
    await eventually(async () => expect(await list()).toHaveLength(2));
    const audit = await gateway.admin('GET', '/audit?actions=alarm.tested');
    expect(audit.json).toMatchObject({
      events: [
        { actor: { type: 'gateway' }, locationId },
        { actor: { type: 'gateway' }, locationId },
      ],
    });
  });
});
