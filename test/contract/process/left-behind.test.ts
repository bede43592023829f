import type { MqttClient } from 'mqtt';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { Api, type TestDevice } from '../../former/clients/api.js';
import { connect, connectDevice } from '../../former/clients/mqtt-clients.js';
import { GatewayProcess } from '../../former/gateway/gateway-process.js';
import { ADMIN_TOKEN } from '../../former/gateway/running-gateway.js';
import { Store } from '../../former/stored/store.js';
import { rewriteRecord } from '../../former/stored/stored-records.js';

/** Enough that the gateway is still forgetting them when it answers the change. */
const RESTS = Array.from({ length: 300 }, (_, index) => `values/${index}`);

let gateway: GatewayProcess;
let api: Api;
let store: Store;
let manager: MqttClient;

beforeAll(async () => {
  gateway = await GatewayProcess.start();
  api = new Api(gateway);
  store = await Store.of(gateway);
  manager = await connect(gateway, { username: 'admin', password: ADMIN_TOKEN });
});

afterAll(async () => {
  await manager.endAsync();
  store.close();
  await gateway.remove();
});

/** The topics of all retained messages of the device. */
async function retainedOf({ id }: TestDevice): Promise<string[]> {
  const topics = await store.redis.hkeys('{site}:broker:retained');
  return topics.filter((topic) => topic.includes(id)).toSorted();
}

function retain(client: MqttClient, topic: string): Promise<unknown> {
  return client.publishAsync(topic, 'on', { qos: 1, retain: true });
}

function command({ locationId, id }: TestDevice, rest: string): Promise<unknown> {
  return retain(manager, `care-homes/${locationId}/devices/${id}/commands/${rest}`);
}

async function move(device: TestDevice, targetLocationId: string): Promise<TestDevice> {
  const path = `/care-homes/${device.locationId}/devices/${device.id}/move`;
  await api.json('POST', path, { targetLocationId });
  return { ...device, locationId: targetLocationId };
}

function deleteDevice({ locationId, id }: TestDevice): Promise<unknown> {
  return api.json('DELETE', `/care-homes/${locationId}/devices/${id}`);
}

/** Resolves when all that earlier changes left behind is forgotten: that happens in their order. */
async function untilForgotten(locationId: string): Promise<void> {
  const marker = await api.createDevice(locationId, 'marker');
  await command(marker, 'last');
  await deleteDevice(marker);
  await expect.poll(() => retainedOf(marker)).toEqual([]);
}

it('keeps the retained messages of a device that has been moved away and back', async () => {
  const [from, to] = [await api.createLocation(), await api.createLocation()];
  const device = await api.createDevice(from.id);
  const sensor = await connectDevice(gateway, device);
  const retainAll = () =>
    Promise.all(RESTS.map((rest) => retain(sensor, `devices/${device.id}/${rest}`)));
  await retainAll();
  await move(await move(device, to.id), from.id);
  await retainAll();
  await untilForgotten(from.id);
  const topics = [...RESTS, 'status'].map(
    (rest) => `care-homes/${from.id}/devices/${device.id}/${rest}`,
  );
  expect(await retainedOf(device)).toEqual(topics.toSorted());
  await sensor.endAsync();
});

it('keeps retained commands sent right after a device has moved', async () => {
  const [from, to] = [await api.createLocation(), await api.createLocation()];
  const device = await api.createDevice(from.id);
  await Promise.all([...RESTS, 'old'].map((rest) => command(device, rest)));
  const moved = await move(device, to.id);
  await Promise.all(RESTS.map((rest) => command(moved, rest)));
  await untilForgotten(to.id);
  const topics = RESTS.map((rest) => `devices/${device.id}/commands/${rest}`);
  expect(await retainedOf(device)).toEqual(topics.toSorted());
});

it('keeps the status of a new device with the id of a just deleted one', async () => {
  const { id: locationId } = await api.createLocation();
  const device = await api.createDevice(locationId);
  const sensor = await connectDevice(gateway, device);
  await Promise.all(RESTS.map((rest) => retain(sensor, `devices/${device.id}/${rest}`)));
  await deleteDevice(device);
  const body = await api.json('POST', `/care-homes/${locationId}/devices`, {
    id: device.id,
    name: 'new',
  });
  const { secret } = z.looseObject({ secret: z.string() }).parse(body);
  const successor = await connectDevice(gateway, { ...device, secret });
  await untilForgotten(locationId);
  const status = `care-homes/${locationId}/devices/${device.id}/status`;
  await expect.poll(() => retainedOf(device)).toEqual([status]);
  await successor.endAsync();
});

// The last test, because it ends the connections of the others.
it('removes at start what a killed gateway left behind of moved and deleted devices', async () => {
  const [from, to] = [await api.createLocation(), await api.createLocation()];
  const moved = await api.createDevice(from.id, 'moved');
  const deleted = await api.createDevice(from.id, 'deleted');
  const unreadable = await api.createDevice(from.id, 'unreadable');
  const bystander = await api.createDevice(from.id, 'bystander');
  const devices = [moved, deleted, unreadable, bystander];
  for (const device of devices) {
    const sensor = await connectDevice(gateway, device);
    await retain(sensor, `devices/${device.id}/temperature`);
    await command(device, 'unlock');
  }
  const unmoved = (device: TestDevice) => [
    `care-homes/${from.id}/devices/${device.id}/status`,
    `care-homes/${from.id}/devices/${device.id}/temperature`,
    `devices/${device.id}/commands/unlock`,
  ];
  for (const device of devices) expect(await retainedOf(device)).toEqual(unmoved(device));
  await gateway.kill();
  await rewriteRecord(store.redis, 'device', moved.id, { locationId: to.id });
  await rewriteRecord(store.redis, 'device', unreadable.id, { name: undefined });
  await store.redis.hdel('{site}:site:device', deleted.id);
  // Counts as a change; otherwise the store would seem to have lost the record.
  await store.redis.incr('{site}:sequence:site');
  await gateway.start();
  const status = `care-homes/${to.id}/devices/${moved.id}/status`;
  await expect.poll(() => retainedOf(moved)).toEqual([status]);
  await expect.poll(() => retainedOf(deleted)).toEqual([]);
  for (const device of [unreadable, bystander]) {
    expect(await retainedOf(device)).toEqual(unmoved(device));
  }
  await store.redis.hdel('{site}:site:device', unreadable.id);
});
