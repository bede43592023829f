import { randomUUID } from 'node:crypto';
import type { IPublishPacket } from 'mqtt-packet';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TestDevice } from '../../former/clients/api.js';
import type { Subscriber } from '../../former/clients/mqtt-clients.js';
import { publishPacket, RawClient } from '../../former/clients/raw-client.js';
import type { GatewayProcess } from '../../former/gateway/gateway-process.js';
import { Home } from '../../former/home.js';
import { RemoteStore } from '../../former/servers/remote-store.js';

let remote: RemoteStore;
let home: Home<GatewayProcess>;
let device: TestDevice;
let sensor: RawClient;
let nurse: Subscriber;

beforeAll(async () => {
  remote = await RemoteStore.start();
  home = await Home.startProcess({ GATEWAY_REDIS_URL: remote.url });
});

beforeEach(async () => {
  device = await home.device();
  nurse = await home.nurse(device, 'alarms/#');
  sensor = await RawClient.connect(home.gateway, device);
});

afterEach(async () => {
  remote.slowDown(0);
  sensor.vanish();
  await nurse.end();
});

afterAll(async () => {
  await home.remove();
  await remote.remove();
});

function alarm(messageId: number, { id: deviceId } = device, id: string = randomUUID()) {
  const packet = publishPacket(`devices/${deviceId}/alarms`, JSON.stringify({ kind: 'fall', id }));
  return { ...packet, qos: 1 as const, messageId };
}

function value(rest: string, messageId: number, qos: 0 | 1): IPublishPacket {
  const packet = publishPacket(`devices/${device.id}/${rest}`, String(messageId));
  return qos === 0 ? { ...packet, retain: true } : { ...packet, qos, messageId };
}

function isLive(observer: Subscriber, id: string): Promise<void> {
  return observer.until((received) => received.some(({ text }) => text.includes(id)));
}

const SENT_BEFORE: readonly (readonly [
  name: string,
  count: number,
  make: (number: number) => IPublishPacket,
])[] = [
  ['alarms', 1_000, (number) => alarm(number)],
  ['values at QoS 1', 1_000, (number) => value('x', number, 1)],
  ['retained values of many topics', 1_000, (number) => value(`x/${number}`, number, 0)],
];

// Not yet slow, and slow (`SLOW_AFTER_MS`); behind-values.load.test.ts has a silent store.
describe.each([190, 400])(
  'guarantee 4: with a store that takes %i ms to answer, an alarm after other publishes of its device',
  (delayMs) => {
    it.each(SENT_BEFORE)(
      'is live behind %s, %i; all are acknowledged in order and stored once',
      async (_name, count, make) => {
        const packets = Array.from({ length: count }, (_, index) => make(index + 1));
        const last = alarm(count + 1);
        remote.slowDown(delayMs);
        sensor.send(...packets);
        sensor.send(last);
        await isLive(nurse, JSON.parse(last.payload.toString()).id);
        remote.slowDown(0);
        const expected = [...packets, last].flatMap(({ qos, messageId }) =>
          qos > 0 ? [messageId] : [],
        );
        const acknowledged = () =>
          sensor.packets.flatMap((one) => (one.cmd === 'puback' ? [one.messageId] : []));
        await sensor.until(() => acknowledged().length === expected.length, 'not all acknowledged');
        expect(acknowledged()).toEqual(expected);
        expect(sensor.isClosed).toBe(false);
        const sentIds = [...packets, last].flatMap(({ topic, payload }) =>
          topic.endsWith('/alarms') ? [JSON.parse(payload.toString()).id] : [],
        );
        const recorded = await home.api.allAlarms(device);
        expect(recorded.map(({ id }) => id).toSorted()).toEqual(sentIds.toSorted());
      },
    );
  },
);

it('guarantee 4: an alarm after 1,000 alarms of another device is live and stored while the store is slow', async () => {
  const other = await home.device();
  const quiet = await RawClient.connect(home.gateway, other);
  const watching = await home.nurse(other, 'alarms/#');
  remote.slowDown(150);
  sensor.send(...Array.from({ length: 1_000 }, (_, index) => alarm(index + 1)));
  const id = randomUUID();
  quiet.send(alarm(1, other, id));
  await isLive(watching, id);
  remote.slowDown(0);
  await quiet.until(() => quiet.packets.some(({ cmd }) => cmd === 'puback'), 'not acknowledged');
  quiet.vanish();
  await watching.end();
});
