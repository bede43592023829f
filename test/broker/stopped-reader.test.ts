import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { faultsOf } from '../former/clients/connection-list.js';
import { connectDevice, Subscriber } from '../former/clients/mqtt-clients.js';
import { RawClient } from '../former/clients/raw-client.js';
import { Home } from '../former/home.js';
import { median } from '../former/median.js';
import { alarmNumbers, isRecordedAlarm, numbers, publishAlarms } from './numbered-alarms.js';

let home: Home;

beforeAll(async () => {
  home = await Home.start({ GATEWAY_LOG_LEVEL: 'debug' });
});

afterAll(() => home.remove());

function isEnd(line: string): boolean {
  return line.includes('"msg":"disconnected"') || line.includes('"msg":"connection ended"');
}

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
