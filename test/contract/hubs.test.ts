import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { connect } from '../former/clients/mqtt-clients.js';
import { eventually } from '../former/eventually.js';
import { useRedis } from '../former/servers/shared-redis.js';
import { startGateway, type TestGateway } from '../http/harness.js';

const redis = useRedis();
const MINUTE_MS = 60_000;

const faultsBody = z.looseObject({
  faults: z.array(
    z.looseObject({
      code: z.string(),
      subject: z
        .looseObject({ type: z.string(), id: z.string(), via: z.unknown().optional() })
        .optional(),
    }),
  ),
});

interface Status {
  readonly online: boolean;
  readonly via?: { readonly id: string; readonly name: string };
}

async function start(environment: Record<string, string> = {}) {
  const gateway = await startGateway(redis, { environment });
  const locationId = await gateway.createLocation();
  const token = await hubToken(gateway, locationId);
  const deviceId = await gateway.createDevice(locationId, 'Bett 1');
  const path = `/care-homes/${locationId}/devices/${deviceId}`;
  const shown = async () => (await gateway.admin('GET', path)).json;
  return { gateway, locationId, token, deviceId, path, shown };
}

function hubToken(gateway: TestGateway, locationId: string) {
  return gateway.issueToken([{ location: locationId, role: 'publisher' }], 'Zigbee');
}

/** Connects as a hub: one connection that publishes for many devices. */
async function connectHub(gateway: TestGateway, { id, token }: { id: string; token: string }) {
  const client = await connect(gateway.running, { username: id, password: token });
  const publish = (deviceId: string, rest = 'battery', payload = '80') =>
    client.publishAsync(`devices/${deviceId}/${rest}`, payload, { qos: 1 });
  return { client, publish };
}

/** The statuses of a home as a nurse call gets them. */
async function watchStatuses(gateway: TestGateway, locationId: string) {
  const { id, token } = await gateway.issueToken([{ location: locationId, role: 'viewer' }]);
  const client = await connect(gateway.running, { username: id, password: token });
  const statuses: Status[] = [];
  client.on('message', (_, payload) => statuses.push(JSON.parse(payload.toString())));
  await client.subscribeAsync(`care-homes/${locationId}/devices/+/status`);
  return statuses;
}

async function faultsOf(gateway: TestGateway, code: string, token?: string) {
  const { json } = await (token === undefined
    ? gateway.admin('GET', '/readyz')
    : gateway.call('GET', '/readyz', { token }));
  return faultsBody.parse(json).faults.filter((fault) => fault.code === code);
}

describe('a device behind a hub', () => {
  it('is online from its first message until the last connection of its hub has ended', async () => {
    const { gateway, locationId, token, deviceId, shown } = await start();
    const via = { id: token.id, name: 'Zigbee' };
    const statuses = await watchStatuses(gateway, locationId);
    const [first, second] = [await connectHub(gateway, token), await connectHub(gateway, token)];
    expect(await shown()).toMatchObject({ online: false, lastSeenAt: null });
    expect(await shown()).not.toHaveProperty('via');
    await first.publish(deviceId);
    expect(await shown()).toMatchObject({ online: true, via });
    await first.client.endAsync();
    await second.publish(deviceId, 'alarms', '{"kind":"fall"}');
    expect(await shown()).toMatchObject({ online: true });
    await second.client.endAsync();
    await eventually(() => expect(statuses.map(({ online }) => online)).toEqual([true, false]));
    expect(statuses.map((status) => status.via)).toEqual([via, via]);
    expect(await shown()).toMatchObject({ online: false, via });
  });

  it('stays online through a second hub when the first one goes', async () => {
    const { gateway, locationId, token, deviceId, shown } = await start();
    const grants = [{ location: locationId, role: 'publisher' as const }];
    const other = await gateway.issueToken(grants, 'Node-RED');
    const [first, second] = [await connectHub(gateway, token), await connectHub(gateway, other)];
    await first.publish(deviceId);
    await second.publish(deviceId);
    await first.client.endAsync();
    const via = { id: other.id, name: 'Node-RED' };
    await eventually(async () => expect(await shown()).toMatchObject({ online: true, via }));
    await second.client.endAsync();
    await eventually(async () => expect(await shown()).toMatchObject({ online: false, via }));
  });

  it('is offline when it falls silent, although its hub is connected, and online when heard again', async () => {
    const environment = { GATEWAY_SUPERVISION_SILENT_AFTER_SECONDS: '60' };
    const { gateway, token, deviceId, shown } = await start(environment);
    const hub = await connectHub(gateway, token);
    await hub.publish(deviceId);
    gateway.aheadMs += MINUTE_MS;
    await eventually(async () => expect(await shown()).toMatchObject({ online: false }));
    await hub.publish(deviceId);
    expect(await shown()).toMatchObject({ online: true });
    await hub.client.endAsync();
  });

  it('counts as itself while it has a connection of its own', async () => {
    const { gateway, token, deviceId, shown } = await start();
    const hub = await connectHub(gateway, token);
    await hub.publish(deviceId);
    const sensor = await gateway.connectDevice(deviceId);
    await hub.publish(deviceId);
    expect(await shown()).toMatchObject({ online: true });
    expect(await shown()).not.toHaveProperty('via');
    await hub.client.endAsync();
    expect(await shown()).toMatchObject({ online: true });
    await sensor.endAsync();
    await eventually(async () => expect(await shown()).toMatchObject({ online: false }));
  });

  it('changes for nobody who edits it: presence is no part of its entity tag', async () => {
    const { gateway, token, deviceId, path } = await start();
    const tag = async () => (await gateway.admin('GET', path)).headers.etag ?? '';
    const before = await tag();
    const hub = await connectHub(gateway, token);
    await hub.publish(deviceId);
    const options = { json: { name: 'Bett 2' }, headers: { 'if-match': before } };
    expect((await gateway.admin('PATCH', path, options)).status).toBe(200);
    await hub.client.endAsync();
  });

  it('shows the new name of its hub, also in the status that is retained', async () => {
    const { gateway, locationId, token, deviceId, shown } = await start();
    const hub = await connectHub(gateway, token);
    await hub.publish(deviceId);
    await gateway.admin('PATCH', `/access-tokens/${token.id}`, { json: { name: 'Hub' } });
    expect(await shown()).toMatchObject({ via: { name: 'Hub' } });
    await eventually(async () => {
      const statuses = await watchStatuses(gateway, locationId);
      await eventually(() => expect(statuses.at(-1)?.via?.name).toBe('Hub'));
    });
    await hub.client.endAsync();
  });
});

describe('the fault hub-away', () => {
  it('names a hub without a connection for a minute, also across a restart, until it is back', async () => {
    const { gateway, locationId, token, deviceId } = await start();
    const viewer = await gateway.issueToken([{ location: locationId, role: 'viewer' }]);
    const idle = await connectHub(gateway, await hubToken(gateway, locationId));
    const hub = await connectHub(gateway, token);
    await hub.publish(deviceId);
    await hub.client.endAsync();
    await idle.client.endAsync();
    gateway.aheadMs += MINUTE_MS;
    const away = { code: 'hub-away', subject: { type: 'access-token', id: token.id } };
    const isReported = async () =>
      expect(await faultsOf(gateway, 'hub-away')).toMatchObject([away]);
    await eventually(isReported);
    const [seen] = await faultsOf(gateway, 'hub-away', viewer.token);
    expect(seen).toMatchObject({ code: 'hub-away' });
    expect(seen).not.toHaveProperty('subject');

    await gateway.running.stop();
    await gateway.running.start();
    expect(await faultsOf(gateway, 'hub-away')).toEqual([]);
    gateway.aheadMs += MINUTE_MS;
    await eventually(isReported);
    const again = await connectHub(gateway, token);
    await eventually(async () => expect(await faultsOf(gateway, 'hub-away')).toEqual([]));
    await again.client.endAsync();
  });

  it('ends when the token of the hub is deleted', async () => {
    const { gateway, token, deviceId, shown } = await start();
    const hub = await connectHub(gateway, token);
    await hub.publish(deviceId);
    await hub.client.endAsync();
    gateway.aheadMs += MINUTE_MS;
    await eventually(async () => expect(await faultsOf(gateway, 'hub-away')).toHaveLength(1));
    await gateway.admin('DELETE', `/access-tokens/${token.id}`);
    await eventually(async () => expect(await faultsOf(gateway, 'hub-away')).toEqual([]));
    expect(await shown()).not.toHaveProperty('via');
  });
});

describe('the fault unknown-device', () => {
  it('names the device and the hub for an hour, or until the device is created', async () => {
    const { gateway, locationId, token } = await start();
    const id = '0198c2f0-5d3a-4c1e-9b60-7e1f2a3b4c5d';
    const hub = await connectHub(gateway, token);
    await hub.publish(id.toUpperCase(), 'alarms/fall', '');
    await hub.publish('Taster Zimmer 7', 'alarms', '{"kind":"helpCall"}');
    await hub.publish('Taster Zimmer 8', 'battery');
    const via = { id: token.id, name: 'Zigbee' };
    const named = async () => (await faultsOf(gateway, 'unknown-device')).map((one) => one.subject);
    const friendly = { type: 'device', id: 'Taster Zimmer 7', name: 'Taster Zimmer 7', via };
    expect(await named()).toEqual([{ type: 'device', id, name: id, via }, friendly]);

    const viewer = await gateway.issueToken([{ location: locationId, role: 'viewer' }]);
    const seen = await faultsOf(gateway, 'unknown-device', viewer.token);
    expect(seen.map(({ subject }) => subject)).toEqual([undefined]);

    const json = { name: 'Taster', id };
    await gateway.admin('POST', `/care-homes/${locationId}/devices`, { json });
    await eventually(async () => expect(await named()).toEqual([friendly]));
    gateway.aheadMs += 60 * MINUTE_MS;
    await eventually(async () => expect(await named()).toEqual([]));
    await hub.client.endAsync();
  });

  it('does not concern a device of another home, nor a token that is no hub', async () => {
    const { gateway, locationId, token } = await start();
    const elsewhere = await gateway.createLocation();
    const other = await gateway.createDevice(elsewhere);
    const hub = await connectHub(gateway, token);
    await hub.publish(other, 'alarms', '{"kind":"fall"}');
    const viewer = await gateway.issueToken([{ location: locationId, role: 'viewer' }]);
    const nurse = await connectHub(gateway, viewer);
    await nurse.publish('Taster', 'alarms', '{"kind":"fall"}');
    expect(await faultsOf(gateway, 'unknown-device')).toEqual([]);
    await Promise.all([hub, nurse].map(({ client }) => client.endAsync()));
  });
});

it('charges alarms through a hub to their device', async () => {
  const { gateway, token, deviceId } = await start({ GATEWAY_LIMITS_DEVICE_ALARMS_PER_DAY: '10' });
  const hub = await connectHub(gateway, token);
  const alarms = Array.from({ length: 40 }, (_, index) => `{"kind":"fall","n":${index}}`);
  let acknowledged = 0;
  for (const alarm of alarms) {
    hub.client.publish(`devices/${deviceId}/alarms`, alarm, { qos: 1 }, (error) => {
      if (!error) acknowledged++;
    });
  }
  const slowed = { code: 'limit-exceeded', subject: { type: 'device', id: deviceId } };
  await eventually(async () => {
    expect(await faultsOf(gateway, 'limit-exceeded')).toMatchObject([slowed]);
  });
  expect(acknowledged).toBeGreaterThanOrEqual(10);
  expect(acknowledged).toBeLessThan(40);
  hub.client.end(true);
});

it('keeps the alarms of other devices coming while one behind the hub is far over its limit', async () => {
  const { gateway, locationId, token, deviceId } = await start();
  const path = `/care-homes/${locationId}/devices/${await gateway.createDevice(locationId)}`;
  await gateway.admin('PATCH', path, { json: { limits: { alarmsPerDay: 1 } } });
  const chattering = path.split('/').at(-1) ?? '';
  const hub = await connectHub(gateway, token);
  // Each waits for its PUBACK: without a bound, the third would come in days.
  for (let count = 0; count < 4; count++)
    await hub.publish(chattering, 'alarms', `{"kind":"noise","n":${count}}`);
  await hub.publish(deviceId, 'alarms', '{"kind":"fall"}');
  const { json } = await gateway.admin('GET', `/care-homes/${locationId}/alarms?kinds=fall`);
  expect(json).toMatchObject({ events: [{ deviceId }] });
  await hub.client.endAsync();
});
