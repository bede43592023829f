import type { MqttClient } from 'mqtt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestDevice } from '../harness/clients/api.js';
import { faultsOf } from '../harness/clients/connection-list.js';
import { connectDevice, type Received, Subscriber } from '../harness/clients/mqtt-clients.js';
import { publishPacket, RawClient } from '../harness/clients/raw-client.js';
import type { GatewayProcess } from '../harness/gateway/gateway-process.js';
import { Home } from '../harness/home.js';
import { median } from '../harness/median.js';
import { Store } from '../harness/stored/store.js';

let home: Home;

beforeAll(async () => {
  home = await Home.start({ GATEWAY_LOG_LEVEL: 'debug' });
});

afterAll(() => home.remove());

function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

/** Publishes numbered alarms together; resolves when each is acknowledged. */
function publishAlarms(sensor: MqttClient, device: TestDevice, from: number, to: number) {
  const topic = `devices/${device.id}/alarms`;
  return Promise.all(
    numbers(from, to).map((number) =>
      sensor.publishAsync(topic, JSON.stringify({ kind: 'fall', number }), { qos: 1 }),
    ),
  );
}

/** Whether it is a recorded alarm, not a live copy, which a slow store causes. */
function isRecordedAlarm({ topic, qos }: Received): boolean {
  return qos === 1 && topic.includes('/alarms/');
}

/** The numbers of the recorded alarms, in order of arrival. */
function alarmNumbers(received: readonly Received[]): unknown[] {
  return received.filter(isRecordedAlarm).map(({ text }) => Object(JSON.parse(text)).data.number);
}

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

describe('fault 10: a subscriber that stops reading', () => {
  it('delays nobody, is disconnected, and gets every message of each QoS when it is back', async () => {
    const device = await home.device();
    const others = await Promise.all([home.device(), home.device()]);
    const atOtherQos = await Promise.all(others.map((one) => connectDevice(home.gateway, one)));
    const otherFilters = others.map((one) => home.filter(one, 'alarms/#'));
    const session = { clientId: `frozen-${device.id}`, clean: false };
    const filters = [home.filter(device, 'alarms/#'), home.filter(device, 'bulk')];
    const frozen = await RawClient.connect(home.gateway, home.viewer, session);
    await frozen.subscribe([...filters, ...otherFilters]);
    frozen.stream.pause();
    const live = { clientId: `frozen-live-${device.id}` };
    const frozenLive = await RawClient.connect(home.gateway, home.viewer, live);
    await frozenLive.subscribe([...filters, ...otherFilters]);
    frozenLive.stream.pause();
    const nurse = await home.nurse(device, 'alarms/#');
    const sensor = await connectDevice(home.gateway, device);

    // Far more than all buffers between the gateway and the frozen subscriber hold.
    const [count, bulk] = [30, 'x'.repeat(200 * 1024)];
    const delaysMs: number[] = [];
    for (const number of numbers(0, count)) {
      await sensor.publishAsync(`devices/${device.id}/bulk`, bulk, { qos: 1 });
      const sentAt = performance.now();
      for (const [index, qos] of ([0, 2] as const).entries()) {
        const topic = `devices/${others[index]?.id}/alarms`;
        const payload = JSON.stringify({ kind: 'fall', number });
        await atOtherQos[index]?.publishAsync(topic, payload, { qos });
      }
      await publishAlarms(sensor, device, number, number + 1);
      await nurse.until((all) => all.filter(isRecordedAlarm).length > number);
      delaysMs.push(performance.now() - sentAt);
    }
    expect(alarmNumbers(nurse.received)).toEqual(numbers(0, count));
    expect(median(delaysMs)).toBeLessThan(1_000);
    for (const { clientId } of [session, live]) {
      const ended = `"clientId":"${clientId}"`;
      await expect
        .poll(() => home.gateway.lines.some((line) => line.includes(ended) && isEnd(line)))
        .toBe(true);
    }
    // The token is named before its connections are closed, for a minute.
    expect(await faultsOf(home.gateway)).toContainEqual(
      expect.stringMatching(new RegExp(`unread bytes.*${home.viewer.id}`)),
    );
    frozen.vanish();
    frozenLive.vanish();

    const back = await Subscriber.connect(home.gateway, home.viewer, session);
    await back.until(
      (received) =>
        alarmNumbers(received).includes(count - 1) &&
        received.filter(({ topic }) => topic.endsWith('/bulk')).length >= count,
    );
    // The frozen subscriber had acknowledged nothing.
    for (const one of [device, ...others]) {
      const own = () => back.received.filter(({ topic }) => topic.includes(one.id));
      await back.until(() => alarmNumbers(own()).includes(count - 1));
      expect(alarmNumbers(own())).toEqual(numbers(0, count));
    }
    // A live subscriber has no backlog.
    const backLive = await Subscriber.connect(home.gateway, home.viewer, live);
    await backLive.subscribe(...filters, ...otherFilters);
    await publishAlarms(sensor, device, count, count + 1);
    await backLive.until((all) => all.some(isRecordedAlarm));
    expect(alarmNumbers(backLive.received)).toEqual([count]);
    const clients = [...atOtherQos, sensor].map((one) => one.endAsync());
    await Promise.all([...clients, nurse.end(), back.end(), backLive.end()]);
  });
});

function isEnd(line: string): boolean {
  return line.includes('"msg":"disconnected"') || line.includes('"msg":"connection ended"');
}
