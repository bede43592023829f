import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestDevice } from '../former/clients/api.js';
import { connectDevice, Subscriber } from '../former/clients/mqtt-clients.js';
import { publishPacket, RawClient } from '../former/clients/raw-client.js';
import type { GatewayProcess } from '../former/gateway/gateway-process.js';
import { Home } from '../former/home.js';
import { Store } from '../former/stored/store.js';
import { alarmNumbers, isRecordedAlarm, numbers, publishAlarms } from './numbered-alarms.js';

let home: Home;

beforeAll(async () => {
  home = await Home.start({ GATEWAY_LOG_LEVEL: 'debug' });
});

afterAll(() => home.remove());

async function persistentNurse(device: TestDevice, clientId: string): Promise<Subscriber> {
  const session = { clientId, clean: false };
  const nurse = await Subscriber.connect(home.gateway, home.viewer, session);
  return nurse.subscribe(home.filter(device, 'alarms/#'));
}

describe('fault 1: 200 alarms reach a live subscriber', () => {
  const count = 200;

  it('among telemetry at QoS 0 and 1', async () => {
    const device = await home.device();
    const nurse = await home.nurse(device, '#');
    const sensor = await connectDevice(home.gateway, device);
    const telemetry = numbers(0, count).flatMap((number) => [
      sensor.publishAsync(`devices/${device.id}/a`, String(number), { qos: 0 }),
      sensor.publishAsync(`devices/${device.id}/b`, String(number), { qos: 1 }),
    ]);
    await Promise.all([...telemetry, publishAlarms(sensor, device, 0, count)]);
    await nurse.until((all) => all.filter(isRecordedAlarm).length >= count);
    expect(alarmNumbers(nurse.received)).toEqual(numbers(0, count));
    await Promise.all([sensor.endAsync(), nurse.end()]);
  });

  it('while retained messages are being stored', async () => {
    const device = await home.device();
    const nurse = await home.nurse(device, '#');
    const sensor = await connectDevice(home.gateway, device);
    const retained = numbers(0, count).map((number) =>
      sensor.publishAsync(`devices/${device.id}/r/${number}`, '1', { qos: 1, retain: true }),
    );
    await Promise.all([...retained, publishAlarms(sensor, device, 0, count)]);
    await nurse.until(
      (received) =>
        received.filter(isRecordedAlarm).length >= count &&
        received.filter(({ topic }) => topic.includes('/r/')).length >= count,
    );
    expect(alarmNumbers(nurse.received)).toEqual(numbers(0, count));
    await Promise.all([sensor.endAsync(), nurse.end()]);
  });

  it('while five sessions of absent subscribers queue them', async () => {
    const device = await home.device();
    const sessions = numbers(0, 5).map((number) => `absent-${number}-${device.id}`);
    for (const clientId of sessions) await (await persistentNurse(device, clientId)).end();
    const nurse = await home.nurse(device, 'alarms/#');
    const sensor = await connectDevice(home.gateway, device);
    await publishAlarms(sensor, device, 0, count);
    await nurse.until((all) => all.filter(isRecordedAlarm).length >= count);
    expect(alarmNumbers(nurse.received)).toEqual(numbers(0, count));
    for (const clientId of sessions) {
      const session = { clientId, clean: false };
      const absent = await Subscriber.connect(home.gateway, home.viewer, session);
      await absent.untilCount(count);
      expect(alarmNumbers(absent.received)).toEqual(numbers(0, count));
      await absent.end();
    }
    await Promise.all([sensor.endAsync(), nurse.end()]);
  });

  it('from two devices, each under overlapping filters, once', async () => {
    const devices = [await home.device(), await home.device()];
    const nurse = await Subscriber.connect(home.gateway, home.viewer);
    for (const rest of ['#', '+', 'alarms/#', 'alarms/fall']) {
      await nurse.subscribe(...devices.map((device) => home.filter(device, rest)));
    }
    const sensors = await Promise.all(devices.map((one) => connectDevice(home.gateway, one)));
    const published = sensors.map((sensor, index) =>
      publishAlarms(sensor, devices[index] ?? Object(), 0, count / 2),
    );
    await Promise.all(published);
    await nurse.until((all) => all.filter(isRecordedAlarm).length >= count);
    for (const device of devices) {
      const own = nurse.received.filter(({ topic }) => topic.includes(device.id));
      expect(alarmNumbers(own)).toEqual(numbers(0, count / 2));
    }
    await Promise.all([...sensors.map((sensor) => sensor.endAsync()), nurse.end()]);
  });
});

describe('after a crash', () => {
  const sessionOf = ({ id }: TestDevice) => ({ clientId: `own-${id}`, clean: false });
  const backlogLength = 2_500;
  let killed: Home<GatewayProcess>;
  let devices: TestDevice[];

  beforeAll(async () => {
    killed = await Home.startProcess();
    devices = [await killed.device(), await killed.device(), await killed.device()];
    for (const device of devices) {
      const nurse = await Subscriber.connect(killed.gateway, killed.viewer, sessionOf(device));
      await nurse.subscribe(killed.filter(device, 'alarms/#'));
      await nurse.end();
    }
    for (const [index, count] of [20, 20, backlogLength].entries()) {
      const device = devices[index] ?? Object();
      const sensor = await connectDevice(killed.gateway, device);
      await publishAlarms(sensor, device, 0, count);
      await sensor.endAsync();
    }
    await killed.gateway.kill();
    await killed.gateway.start();
  });

  afterAll(() => killed.remove());

  it('fault 4: each session gets all of its own messages, and no others', async () => {
    for (const device of devices.slice(0, 2)) {
      const nurse = await Subscriber.connect(killed.gateway, killed.viewer, sessionOf(device));
      const sensor = await connectDevice(killed.gateway, device);
      await publishAlarms(sensor, device, 20, 40);
      await nurse.until((all) => all.filter(isRecordedAlarm).length >= 40);
      expect(new Set(nurse.received.map(({ topic }) => topic))).toEqual(
        new Set([killed.filter(device, 'alarms/fall')]),
      );
      expect(alarmNumbers(nurse.received)).toEqual(numbers(0, 40));
      await Promise.all([sensor.endAsync(), nurse.end()]);
    }
  });

  it('fault 8: a backlog of 2,500 alarms arrives complete and in order on one connection, before new alarms', async () => {
    const device = devices[2] ?? Object();
    const nurse = await Subscriber.connect(killed.gateway, killed.viewer, sessionOf(device));
    const sensor = await connectDevice(killed.gateway, device);
    // New alarms arrive while the backlog is being sent.
    await publishAlarms(sensor, device, backlogLength, backlogLength + 200);
    await nurse.until((all) => all.filter(isRecordedAlarm).length >= backlogLength + 200);
    expect(alarmNumbers(nurse.received)).toEqual(numbers(0, backlogLength + 200));
    await Promise.all([sensor.endAsync(), nurse.end()]);
  });
});

describe('fault 9: the state of a session', () => {
  it('is deleted when its client reconnects with a clean session', async () => {
    const device = await home.device();
    const clientId = `leaves-nothing-${device.id}`;
    const store = await Store.of(home.gateway);
    await (await persistentNurse(device, clientId)).end();
    const sensor = await connectDevice(home.gateway, device);
    await publishAlarms(sensor, device, 0, 20);
    expect(await store.keys(`*${clientId}*`)).not.toEqual([]);
    const clean = await Subscriber.connect(home.gateway, home.viewer, { clientId, clean: true });
    await clean.end();
    expect(await store.keys(`*${clientId}*`)).toEqual([]);
    const again = await RawClient.connect(home.gateway, home.viewer, { clientId, clean: false });
    await publishAlarms(sensor, device, 20, 21);
    await again.ping();
    expect(again.packets.filter(({ cmd }) => cmd === 'publish')).toEqual([]);
    again.vanish();
    await sensor.endAsync();
    store.close();
  });

  it('with incomplete QoS 2 publishes is deleted by a clean session', async () => {
    const device = await home.device();
    const clientId = `qos2-${device.id}`;
    const store = await Store.of(home.gateway);
    const client = await RawClient.connect(home.gateway, device, { clientId, clean: false });
    const packet = publishPacket(`devices/${device.id}/x`, '1');
    client.send({ ...packet, qos: 2, messageId: 1 });
    await client.next('pubrec');
    expect(await store.keys(`*incoming:*${clientId}*`)).not.toEqual([]);
    client.vanish();
    (await RawClient.connect(home.gateway, device, { clientId, clean: true })).vanish();
    await expect.poll(() => store.keys(`*${clientId}*`)).toEqual([]);
    store.close();
  });

  it('does not grow by a key per message under overlapping filters', async () => {
    const device = await home.device();
    const clientId = `overlaps-${device.id}`;
    const nurse = await persistentNurse(device, clientId);
    await nurse.subscribe(home.filter(device, '#'), home.filter(device, 'x'));
    const sensor = await connectDevice(home.gateway, device);
    const publish = async (from: number, to: number) => {
      for (const number of numbers(from, to)) {
        await sensor.publishAsync(`devices/${device.id}/x`, String(number), { qos: 1 });
      }
      const last = `"data":${to - 1},`;
      await nurse.until((received) => received.some(({ text }) => text.includes(last)));
    };
    const store = await Store.of(home.gateway);
    await publish(0, 5);
    const before = await store.keys();
    await publish(5, 55);
    expect(await store.keys()).toEqual(before);
    await Promise.all([sensor.endAsync(), nurse.end()]);
    store.close();
  });
});
