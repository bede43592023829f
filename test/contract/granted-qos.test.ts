import { afterAll, beforeAll, expect, it } from 'vitest';
import { RawClient } from '../former/clients/raw-client.js';
import { Home } from '../former/home.js';

const WAITING = 1_000;

let home: Home;

beforeAll(async () => {
  home = await Home.start();
});

afterAll(() => home.remove());

it('lets no alarm overtake those that wait, when a durable session subscribes at QoS 0', async () => {
  const device = await home.device();
  await home.absent('station-1');
  const alarms = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => `{"kind":"fall","n":${from + index}}`);
  await home.publish(device, 'alarms', alarms(0, WAITING));
  const nurse = await RawClient.connect(home.gateway, home.viewer, {
    clientId: 'station-1',
    clean: false,
  });
  nurse.send({
    cmd: 'subscribe',
    messageId: 1,
    subscriptions: [{ topic: `care-homes/${home.locationId}/#`, qos: 0 }],
  });
  await nurse.next('suback');
  await home.publish(device, 'alarms', alarms(WAITING, 100));
  const got = () =>
    nurse.packets.flatMap((packet) => {
      if (packet.cmd !== 'publish' || !packet.topic.includes('/alarms/')) return [];
      if (packet.qos === 1) nurse.send({ cmd: 'puback', messageId: packet.messageId ?? 0 });
      const { data } = JSON.parse(packet.payload.toString());
      return [{ n: data.n, qos: packet.qos }];
    });
  // What is acknowledged twice is ignored.
  await nurse.until(() => got().length >= WAITING + 100, 'not all came');
  const numbers = [...new Set(got().map(({ n }) => n))];
  expect(numbers).toEqual(Array.from({ length: WAITING + 100 }, (_, n) => n));
  expect(got().at(-1)?.qos).toBe(0);
  nurse.vanish();
});

it('keeps the alarms, and nothing else, for a durable session at QoS 0 that is away', async () => {
  const device = await home.device();
  const session = { clientId: 'display', clean: false };
  const display = await RawClient.connect(home.gateway, home.viewer, session);
  const subscriptions = ['value', 'alarms/#'].map((rest) => {
    return { topic: home.filter(device, rest), qos: 0 as const };
  });
  display.send({ cmd: 'subscribe', messageId: 1, subscriptions });
  await display.next('suback');
  display.send({ cmd: 'disconnect' });
  await display.closed();
  await home.publish(device, 'value', ['1']);
  await home.publish(device, 'alarms', ['{"kind":"fall"}']);
  const back = await RawClient.connect(home.gateway, home.viewer, session);
  const topic = home.filter(device, 'alarms/fall');
  expect(await back.next('publish')).toMatchObject({ qos: 0, topic });
  back.vanish();
});
