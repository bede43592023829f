import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TestDevice } from '../../former/clients/api.js';
import { faultsOf } from '../../former/clients/connection-list.js';
import { RawClient } from '../../former/clients/raw-client.js';
import { Home } from '../../former/home.js';

const MAX_TOPICS = 3;
const MAX_BYTES = 6_000;

let home: Home;

beforeAll(async () => {
  home = await Home.start({
    GATEWAY_LIMITS_DEVICE_RETAINED_TOPICS: String(MAX_TOPICS),
    GATEWAY_LIMITS_DEVICE_RETAINED_BYTES: String(MAX_BYTES),
    GATEWAY_LIMITS_LOCATION_RETAINED_TOPICS: '5',
  });
});

afterAll(() => home.remove());

/** A home with its own retained messages. */
async function newHome(): Promise<Home> {
  return Home.at(home.gateway);
}

async function retain(place: Home, device: TestDevice, rest: string, text: string): Promise<void> {
  const sensor = await RawClient.connect(place.gateway, device);
  sensor.send({
    cmd: 'publish',
    qos: 1,
    dup: false,
    messageId: 1,
    topic: `devices/${device.id}/${rest}`,
    payload: text,
    retain: true,
  });
  await sensor.next('puback');
  sensor.vanish();
}

/** The last levels of the device's retained topics that a new subscriber gets, except its status. */
async function retainedOf(place: Home, device: TestDevice): Promise<string[]> {
  const nurse = await place.nurse(device, '#');
  const isStatus = ({ topic }: { topic: string }) => topic.endsWith('/status');
  // Retained messages come in the order of the SUBSCRIBEs; the device's status may also come live.
  await nurse.client.subscribeAsync('gateway/status', { qos: 1 });
  await nurse.until((received) => received.some(({ topic }) => topic === 'gateway/status'));
  await nurse.end();
  const topics = nurse.received.filter(({ retain: isRetained }) => isRetained);
  const names = topics.filter((message) => !isStatus(message)).map(({ topic }) => topic);
  return [...new Set(names.map((topic) => topic.split('/').at(-1) ?? ''))].sort();
}

it('forwards and acknowledges further topics of a device, but does not retain them', async () => {
  const place = await newHome();
  const [hostile, honest] = [await place.device(), await place.device()];
  const nurse = await place.nurse(hostile, '+');
  for (const rest of ['a', 'b', 'c', 'd', 'e']) await retain(place, hostile, rest, '1');
  await nurse.until((all) => new Set(all.map(({ topic }) => topic)).size >= 5);
  expect(await retainedOf(place, hostile)).toEqual(['a', 'b', 'c']);
  expect(await faultsOf(home.gateway)).toContainEqual(
    expect.stringMatching(`Too many retained messages.*${hostile.id}`),
  );
  await retain(place, honest, 'a', '1');
  expect(await retainedOf(place, honest)).toEqual(['a']);
  await retain(place, hostile, 'a', '');
  await retain(place, hostile, 'd', '2');
  expect(await retainedOf(place, hostile)).toEqual(['b', 'c', 'd']);
  await nurse.end();
});

it('removes the older value of a topic when the new one does not fit', async () => {
  const place = await newHome();
  const device = await place.device();
  await retain(place, device, 'a', '1');
  await retain(place, device, 'b', JSON.stringify('x'.repeat(MAX_BYTES / 2)));
  expect(await retainedOf(place, device)).toEqual(['a', 'b']);
  await retain(place, device, 'a', JSON.stringify('y'.repeat(MAX_BYTES / 2)));
  expect(await retainedOf(place, device)).toEqual(['b']);
});

it('counts towards the location, and includes what an earlier run has retained', async () => {
  const place = await newHome();
  const devices = [await place.device(), await place.device()];
  for (const device of devices) {
    for (const rest of ['a', 'b', 'c']) await retain(place, device, rest, '1');
  }
  const counts = async () =>
    (await Promise.all(devices.map((one) => retainedOf(place, one)))).flat();
  expect(await counts()).toHaveLength(5);
  await home.gateway.stop();
  await home.gateway.start();
  const [first, second] = devices;
  if (first === undefined || second === undefined) throw new Error('no devices');
  await retain(place, second, 'd', '1');
  expect(await counts()).toHaveLength(5);
  const path = `/care-homes/${place.locationId}/devices/${first.id}`;
  await home.api.request('DELETE', path);
  await expect
    .poll(async () => {
      await retain(place, second, 'd', '1');
      return retainedOf(place, second);
    })
    .toEqual(['a', 'b', 'd']);
});

it('retains no more than the total for all, and reports it', async () => {
  const small = await Home.start({ GATEWAY_LIMITS_TOTAL_RETAINED_BYTES: '20000' });
  const isFull = async () => (await faultsOf(small.gateway)).join().includes('Retained messages');
  const device = await small.device();
  await retain(small, device, 'a', JSON.stringify('x'.repeat(12_000)));
  await retain(small, device, 'b', JSON.stringify('x'.repeat(12_000)));
  expect(await isFull()).toBe(true);
  expect(await retainedOf(small, device)).toEqual(['a']);
  await retain(small, device, 'a', '');
  await retain(small, device, 'c', '1');
  expect(await isFull()).toBe(false);
  expect(await retainedOf(small, device)).toEqual(['c']);
  await small.remove();
});
