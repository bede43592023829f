import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestDevice } from '../former/clients/api.js';
import { connectDevice, Subscriber } from '../former/clients/mqtt-clients.js';
import { publishPacket, RawClient } from '../former/clients/raw-client.js';
import { Home } from '../former/home.js';

let home: Home;

beforeAll(async () => {
  home = await Home.start();
});

afterAll(() => home.remove());

/** Publishes a retained message, and waits until it is accepted. */
async function publishRetained(
  device: TestDevice,
  rest: string,
  payload: string,
  qos: 1 | 2 = 1,
): Promise<void> {
  const sensor = await connectDevice(home.gateway, device);
  await sensor.publishAsync(`devices/${device.id}/${rest}`, payload, { qos, retain: true });
  await sensor.endAsync();
}

/** The retained messages that a new subscriber gets. */
async function retainedFor(device: TestDevice, ...rests: string[]) {
  // A retained marker shows that they have arrived; a live marker after it shows that these are all.
  await publishRetained(device, 'marker', '1');
  const nurse = await home.nurse(device, ...rests, 'marker');
  const isMarker = ({ topic }: { topic: string }) => topic.endsWith('/marker');
  await nurse.until((received) => received.some(isMarker));
  await publishRetained(device, 'marker', '2');
  await nurse.until((received) => received.filter(isMarker).length === 2);
  await nurse.end();
  return nurse.received.filter((message) => !isMarker(message));
}

describe('a retained message', () => {
  it.each([0, 1, 2] as const)(
    'at QoS %i is sent without the flag live, and with it later',
    async (qos) => {
      const device = await home.device();
      const live = await home.nurse(device, 'temperature');
      const sensor = await connectDevice(home.gateway, device);
      const topic = `devices/${device.id}/temperature`;
      await sensor.publishAsync(topic, '21.50', { qos, retain: true });
      await live.untilCount(1);
      expect(live.received[0]).toMatchObject({ retain: false, qos: Math.min(qos, 1) });

      const late = await home.nurse(device, 'temperature');
      await late.untilCount(1);
      expect(late.received[0]).toMatchObject({ retain: true, qos: Math.min(qos, 1) });
      expect(late.received[0]?.text).toContain('"data":21.50');
      expect(late.received[0]?.text).toBe(live.received[0]?.text);
      await Promise.all([live.end(), late.end(), sensor.endAsync()]);
    },
  );

  it('is the last one of its topic', async () => {
    const device = await home.device();
    for (const value of ['1', '2', '3']) await publishRetained(device, 'temperature', value);
    const late = await home.nurse(device, 'temperature');
    await late.untilCount(1);
    expect(late.messages()).toMatchObject([{ data: 3 }]);
    await late.end();
  });

  it('is removed by an empty one, which live subscribers receive as an empty message', async () => {
    const device = await home.device();
    await publishRetained(device, 'temperature', '21');
    expect(await retainedFor(device, 'temperature')).toHaveLength(1);
    const live = await home.nurse(device, 'temperature');
    await live.untilCount(1);
    await publishRetained(device, 'temperature', '');
    await live.untilCount(2);
    expect(live.messages()[1]).toMatchObject({ base64: '' });
    expect(await retainedFor(device, 'temperature')).toEqual([]);
    await live.end();
  });

  it('is sent once for overlapping filters of one SUBSCRIBE', async () => {
    const device = await home.device();
    await publishRetained(device, 'a/b', '1');
    const came = await retainedFor(device, 'a/b', 'a/+', 'a/#');
    expect(came).toHaveLength(1);
  });

  it.each(['[x]/y', 'a*b/y', '?/y', '\\/y', 'a^/y'])('on %s matches a wildcard', async (rest) => {
    const device = await home.device();
    await publishRetained(device, rest, '1');
    const [first = ''] = rest.split('/');
    expect(await retainedFor(device, `${first}/+`)).toHaveLength(1);
  });

  it('is sent again for each new SUBSCRIBE, but not when a session is resumed', async () => {
    const device = await home.device();
    await publishRetained(device, 'temperature', '21');
    const session = { clientId: `retained-${device.id}`, clean: false };
    const first = await Subscriber.connect(home.gateway, home.viewer, session);
    await first.subscribe(home.filter(device, 'temperature'));
    await first.untilCount(1);
    await first.subscribe(home.filter(device, 'temperature'));
    await first.untilCount(2);
    await first.end();
    const second = await Subscriber.connect(home.gateway, home.viewer, session);
    await publishRetained(device, 'temperature', '22');
    await second.untilCount(1);
    expect(second.received).toMatchObject([{ retain: false }]);
    expect(second.messages()).toMatchObject([{ data: 22 }]);
    await second.end();
  });

  it('is sent when a filter is subscribed to again right after the live message', async () => {
    const device = await home.device();
    const filter = home.filter(device);
    const nurse = await RawClient.connect(home.gateway, home.viewer);
    nurse.acknowledgeAll();
    const sensor = await RawClient.connect(home.gateway, device);
    const cameAs = (value: number) =>
      nurse.packets.flatMap((packet) =>
        packet.cmd === 'publish' && packet.payload.toString().includes(`"data":${value},`)
          ? [packet.retain]
          : [],
      );
    await nurse.subscribe([filter]);
    for (let value = 1; value <= 8; value++) {
      const message = publishPacket(`devices/${device.id}/temperature`, String(value));
      sensor.send({ ...message, retain: true, qos: 1, messageId: value });
      await nurse.until(() => cameAs(value).length === 1, `${value} did not come live`);
      nurse.send(
        { cmd: 'unsubscribe', messageId: 2, unsubscriptions: [filter] },
        { cmd: 'subscribe', messageId: 3, subscriptions: [{ topic: filter, qos: 1 }] },
      );
      await nurse.until(() => cameAs(value).length === 2, `${value} did not come again`);
      expect(cameAs(value)).toEqual([false, true]);
    }
    for (const client of [nurse, sensor]) client.vanish();
  });

  it('is sent to a durable client that reconnects and subscribes again', async () => {
    const device = await home.device();
    const filter = home.filter(device);
    const session = { clientId: `comes-back-${device.id}`, clean: false };
    const sensor = await RawClient.connect(home.gateway, device);
    const hasCome = (nurse: RawClient, value: number, retain: boolean) =>
      nurse.packets.some(
        (packet) =>
          packet.cmd === 'publish' &&
          packet.retain === retain &&
          packet.payload.toString().includes(`"data":${value},`),
      );
    for (let value = 1; value <= 5; value++) {
      const nurse = await RawClient.connect(home.gateway, home.viewer, session);
      nurse.acknowledgeAll();
      await nurse.subscribe([filter]);
      const message = publishPacket(`devices/${device.id}/temperature`, String(value));
      sensor.send({ ...message, retain: true, qos: 1, messageId: value });
      await nurse.until(() => hasCome(nurse, value, false), `${value} did not come live`);
      nurse.vanish();
      const again = await RawClient.connect(home.gateway, home.viewer, session);
      await again.subscribe([filter]);
      await again.until(() => hasCome(again, value, true), `${value} did not come again`);
      again.vanish();
    }
    sensor.vanish();
  });

  it('survives a restart of the gateway', async () => {
    const device = await home.device();
    await publishRetained(device, 'temperature', '21');
    await home.gateway.stop();
    await home.gateway.start();
    const late = await home.nurse(device, 'temperature');
    await late.untilCount(1);
    expect(late.messages()).toMatchObject([{ data: 21 }]);
    await late.end();
  });

  it('is never an alarm', async () => {
    const device = await home.device();
    await publishRetained(device, 'alarms', '{"kind":"fall"}');
    expect((await home.api.alarms(device)).events).toHaveLength(1);
    expect(await retainedFor(device, 'alarms/#')).toEqual([]);
  });

  it('fault 3: at QoS 2 does not disconnect a persistent subscriber that requested QoS 2', async () => {
    const device = await home.device();
    const clientId = `qos2-subscriber-${device.id}`;
    const nurse = await RawClient.connect(home.gateway, home.viewer, { clientId, clean: false });
    const filter = home.filter(device, 'temperature');
    expect(await nurse.subscribe([filter], 2)).toEqual([1]);
    await publishRetained(device, 'temperature', '21', 2);
    const live = await nurse.next('publish');
    expect(live).toMatchObject({ qos: 1, retain: false });
    nurse.send({ cmd: 'puback', messageId: Number(live.messageId) });
    expect(await nurse.subscribe([filter], 2)).toEqual([1]);
    const retained = await nurse.next('publish');
    expect(retained).toMatchObject({ qos: 1, retain: true });
    nurse.send({ cmd: 'puback', messageId: Number(retained.messageId) });
    await nurse.ping();
    nurse.vanish();
  });
});

describe('the status of a device', () => {
  it('is retained, so that later subscribers know who is online', async () => {
    const device = await home.device();
    const sensor = await connectDevice(home.gateway, device);
    const nurse = await home.nurse(device, 'status');
    await nurse.until((received) => received.some(({ text }) => text.includes('"online":true')));
    expect(nurse.received.at(-1)?.qos).toBe(1);
    await sensor.endAsync();
    await nurse.until((received) => received.some(({ text }) => text.includes('"online":false')));
    const late = await home.nurse(device, 'status');
    await late.until((received) => received.some(({ text }) => text.includes('"online":false')));
    await Promise.all([nurse.end(), late.end()]);
  });

  it('cannot be published by the device', async () => {
    const device = await home.device();
    const nurse = await home.nurse(device, 'rejected');
    const sensor = await RawClient.connect(home.gateway, device);
    const status = publishPacket(`devices/${device.id}/status`, '{"online":false}');
    sensor.send({ ...status, qos: 1, retain: true, messageId: 1 });
    await sensor.next('puback');
    await nurse.untilCount(1);
    const late = await home.nurse(device, 'status');
    await late.untilCount(1);
    // The true status may come live as well, because the device has just connected.
    expect(late.messages().map(({ online }) => online)).not.toContain(false);
    sensor.vanish();
    await Promise.all([nurse.end(), late.end()]);
  });
});

describe('gateway/status', () => {
  it('is sent immediately to everybody who may subscribe to it', async () => {
    const nurse = await Subscriber.connect(home.gateway, home.viewer);
    await nurse.subscribe('gateway/status');
    await nurse.untilCount(1);
    expect(nurse.received[0]).toMatchObject({ retain: true, qos: 1 });
    expect(nurse.messages()).toMatchObject([{ online: true, faults: [] }]);
    await nurse.end();
  });
});
