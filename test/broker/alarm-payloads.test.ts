import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { TestDevice } from '../former/clients/api.js';
import { connectDevice, Subscriber } from '../former/clients/mqtt-clients.js';
import { Home } from '../former/home.js';
import { Store } from '../former/stored/store.js';

const eventsSchema = z.object({ events: z.array(z.looseObject({ deviceId: z.string() })) });

let home: Home;

beforeAll(async () => {
  home = await Home.start();
});

afterAll(() => home.remove());

async function publish(device: TestDevice, rest: string, payload: string | Buffer): Promise<void> {
  const sensor = await connectDevice(home.gateway, device);
  await sensor.publishAsync(`devices/${device.id}/${rest}`, payload, { qos: 1 });
  await sensor.endAsync();
}

async function recorded(device: TestDevice) {
  const answer = await home.api.json('GET', `${home.path}/alarms?device=${device.id}`);
  return eventsSchema.parse(answer).events;
}

async function readiness(): Promise<string> {
  const headers = { authorization: 'Bearer admin-token-of-the-tests' };
  return (await fetch(`${home.gateway.httpUrl}/readyz`, { headers })).text();
}

describe('an alarm that is not quite JSON', () => {
  it.each([
    ['NUL', Buffer.from('{"kind":"fall","n":1}\0')],
    ['a byte order mark', Buffer.from('\ufeff{"kind":"fall","n":1}')],
  ])('is accepted as an ordinary alarm with %s', async (_what, payload) => {
    const device = await home.device();
    const nurse = await home.nurse(device, 'alarms/#', 'rejected');
    await publish(device, 'alarms', payload);
    await nurse.untilCount(1);
    expect(nurse.messages('/alarms/fall')).toMatchObject([{ kind: 'fall', data: { n: 1 } }]);
    expect(await recorded(device)).toMatchObject([{ kind: 'fall', data: { n: 1 } }]);
    expect(nurse.messages('/rejected')).toEqual([]);
    await nurse.end();
  });

  it.each([
    ['nan', Buffer.from('{"kind":"fall","score":nan}')],
    ['Latin-1', Buffer.from('{"kind":"fall","room":"Küche"}', 'latin1')],
    ['cut off', Buffer.from('{"kind":"fall","deta')],
  ])('is recorded and forwarded with its bytes, and reported: %s', async (_what, payload) => {
    const device = await home.device();
    const nurse = await home.nurse(device, 'alarms/#', 'rejected');
    await publish(device, 'alarms', payload);
    await nurse.untilCount(2);
    const bytes = { base64: payload.toString('base64'), malformed: true };
    expect(nurse.messages('/alarms/fall')).toMatchObject([{ kind: 'fall', ...bytes }]);
    expect(await recorded(device)).toMatchObject([{ kind: 'fall', data: null, ...bytes }]);
    expect(nurse.messages('/rejected')).toMatchObject([
      { reason: 'not-json', base64: bytes.base64 },
    ]);
    expect(await readiness()).not.toContain('device-unreadable');
    await nurse.end();
  });

  it('keeps its usable footage, and is reported', async () => {
    const device = await home.device();
    const nurse = await home.nurse(device, 'alarms/#', 'rejected');
    const footage = { video: true, audio: `${device.id}/a.mp3` };
    await publish(device, 'alarms', JSON.stringify({ kind: 'fall', footage }));
    await nurse.untilCount(2);
    expect(nurse.messages('/alarms/fall')).toMatchObject([{ footage: ['audio'] }]);
    expect(nurse.messages('/rejected')).toMatchObject([{ reason: 'invalid-footage' }]);
    await nurse.end();
  });
});

describe('an alarm whose kind is in the topic', () => {
  it.each([
    ['', { base64: '' }],
    ['pressed', { base64: 'cHJlc3NlZA==' }],
    ['1.50', { data: 1.5 }],
    ['{"battery":7}', { data: { battery: 7 } }],
  ])('is valid with the payload %j', async (payload, fields) => {
    const device = await home.device();
    const nurse = await home.nurse(device, 'alarms/#', 'rejected');
    await publish(device, 'alarms/helpCall', payload);
    await nurse.untilCount(1);
    expect(nurse.messages('/alarms/helpCall')).toMatchObject([{ kind: 'helpCall', ...fields }]);
    expect(await recorded(device)).toMatchObject([{ kind: 'helpCall', ...fields }]);
    await nurse.end();
  });

  it('is reported when the payload names another kind', async () => {
    const device = await home.device();
    const nurse = await home.nurse(device, 'alarms/#', 'rejected');
    await publish(device, 'alarms/helpCall', '{"kind":"fall"}');
    await nurse.untilCount(1);
    expect(nurse.messages()).toMatchObject([{ reason: 'contradicting-kind' }]);
    expect(await recorded(device)).toEqual([]);
    await nurse.end();
  });
});

describe('an unusable alarm', () => {
  it('takes room until it is stored for its readers, even at QoS 0', async () => {
    const device = await home.device();
    const session = { clientId: `kept-${device.id}`, clean: false };
    const nurse = await Subscriber.connect(home.gateway, home.viewer, session);
    await nurse.subscribe(home.filter(device));
    const sensor = await connectDevice(home.gateway, device);
    const store = await Store.of(home.gateway);
    store.freeze();
    const topics = ['homeassistant/status', `devices/${device.id}/status`];
    for (const topic of topics) await sensor.publishAsync(topic, 'x'.repeat(10_000), { qos: 0 });
    const unstored = async () => {
      const metrics = await (await fetch(`${home.gateway.httpUrl}/metrics`)).text();
      return Number(/^gateway_unstored_bytes (\d+)$/m.exec(metrics)?.[1]);
    };
    await expect.poll(unstored).toBeGreaterThan(topics.length * 10_000);
    store.thaw();
    await expect.poll(unstored).toBe(0);
    await nurse.until(() => nurse.messages('/rejected').length === topics.length);
    store.close();
    await Promise.all([sensor.endAsync(), nurse.end()]);
  });

  it('waits for an absent nurse-call system, which lists it with its viewer token', async () => {
    const device = await home.device();
    const session = { clientId: `away-${device.id}`, clean: false };
    const before = await Subscriber.connect(home.gateway, home.viewer, session);
    await before.subscribe(home.filter(device));
    await before.end();
    await publish(device, 'alarms', 'fall in room 7');
    const after = await Subscriber.connect(home.gateway, home.viewer, session);
    await after.until((received) => received.some(({ topic }) => topic.endsWith('/rejected')));
    expect(after.messages('/rejected')).toMatchObject([{ reason: 'not-json' }]);
    const headers = { authorization: `Bearer ${home.viewer.token}` };
    const answer = await fetch(`${home.gateway.httpUrl}${home.path}/rejected`, { headers });
    expect(await answer.json()).toContainEqual(
      expect.objectContaining({ deviceId: device.id, reason: 'not-json' }),
    );
    await after.end();
  });

  it.each([
    ['alarms', 'fall'],
    ['alarms', '{"kind":"fallen"}'],
    ['alarms/falls', '{}'],
  ])('on %s with %s is a fault until the device sends a valid one', async (rest, payload) => {
    const device = await home.device();
    await publish(device, rest, payload);
    await expect.poll(readiness).toContain(device.id);
    expect(await readiness()).toContain('device-unreadable');
    await publish(device, 'alarms', '{"kind":"fall"}');
    await expect.poll(readiness).not.toContain(device.id);
  });

  it('is no longer a fault once its device is deleted', async () => {
    const device = await home.device();
    await publish(device, 'alarms', 'fall');
    await expect.poll(readiness).toContain(device.id);
    await home.api.json('DELETE', `${home.path}/devices/${device.id}`);
    await expect.poll(readiness).not.toContain(device.id);
  });
});
