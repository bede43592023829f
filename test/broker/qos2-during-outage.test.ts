import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestDevice } from '../former/clients/api.js';
import { publishPacket, RawClient } from '../former/clients/raw-client.js';
import { Home } from '../former/home.js';
import { Store } from '../former/stored/store.js';

/** An alarm without id or time: nothing in it identifies it. */
const ALARM = '{"kind":"helpCall"}';

let home: Home;

beforeAll(async () => {
  home = await Home.start();
});

afterAll(() => home.remove());

function alarmOf(device: TestDevice, messageId: number, dup = false) {
  const packet = publishPacket(`devices/${device.id}/alarms`, ALARM);
  return { ...packet, qos: 2 as const, messageId, dup };
}

describe('a QoS 2 alarm whose packet identifier cannot be stored', () => {
  it('is acknowledged on the same connection once the identifier is stored', async () => {
    const device = await home.device();
    const store = await Store.of(home.gateway);
    const session = { clientId: `sensor-${device.id}`, clean: false };
    const sensor = await RawClient.connect(home.gateway, device, session);
    // The key is not a hash: writes into it fail.
    const key = `{site}:broker:incoming:device:${device.id}/${session.clientId}`;
    await store.redis.set(key, 'x');
    sensor.send(alarmOf(device, 1));
    const refused = () =>
      home.gateway.lines.some((line) => line.includes('failed to append to the log'));
    await expect.poll(refused).toBe(true);
    await sensor.ping();
    expect(sensor.packets.map(({ cmd }) => cmd)).toEqual(['connack', 'pingresp']);
    await store.redis.del(key);
    await sensor.next('pubrec');
    expect((await home.api.alarms(device)).events).toHaveLength(1);
    sensor.vanish();
    store.close();
  });
});

describe('guarantee 4: a device at QoS 2, while the store does not answer', () => {
  it('is served, and its alarms are live, while its PUBRELs wait', async () => {
    const device = await home.device();
    const nurse = await home.nurse(device, 'alarms/#');
    const session = { clientId: `sensor-${device.id}`, clean: false };
    const sensor = await RawClient.connect(home.gateway, device, session);
    sensor.send(alarmOf(device, 1), alarmOf(device, 2), alarmOf(device, 3));
    const count = (cmd: string) => sensor.packets.filter((packet) => packet.cmd === cmd).length;
    await sensor.until(() => count('pubrec') === 3, 'PUBRECs');
    await nurse.untilCount(3);
    const store = await Store.of(home.gateway);
    store.freeze();
    try {
      sensor.send(...[1, 2, 3].map((messageId) => ({ cmd: 'pubrel' as const, messageId })));
      await sensor.ping();
      sensor.send(alarmOf(device, 4));
      await nurse.untilCount(4);
      expect(nurse.received.at(-1)?.qos).toBe(0);
      await sensor.ping();
      expect([count('pubrec'), count('pubcomp')]).toEqual([3, 0]);
    } finally {
      store.thaw();
    }
    await sensor.until(() => count('pubrec') === 4 && count('pubcomp') === 3, 'not all answered');
    await nurse.untilCount(5);
    expect(nurse.messages()[4]?.['id']).toBe(nurse.messages()[3]?.['id']);
    expect((await home.api.alarms(device)).events).toHaveLength(4);
    sensor.vanish();
    await nurse.end();
    store.close();
  });

  it('keeps its connection with any number of unreleased packet identifiers', async () => {
    const device = await home.device();
    const sensor = await RawClient.connect(home.gateway, device);
    const topic = `devices/${device.id}/x`;
    const publish = (messageId: number) =>
      sensor.send({ ...publishPacket(topic, '1'), qos: 2, messageId });
    for (let messageId = 1; messageId <= 2_000; messageId++) publish(messageId);
    const count = () => sensor.packets.filter(({ cmd }) => cmd === 'pubrec').length;
    await sensor.until(() => count() === 2_000, 'PUBRECs');
    sensor.send({ cmd: 'pubrel', messageId: 1 });
    await sensor.next('pubcomp');
    sensor.vanish();
  });
});
