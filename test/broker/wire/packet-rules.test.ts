import type { Packet } from 'mqtt-packet';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestDevice } from '../../former/clients/api.js';
import type { Received, Subscriber } from '../../former/clients/mqtt-clients.js';
import {
  connectPacket,
  credentials,
  publishPacket,
  RawClient,
} from '../../former/clients/raw-client.js';
import { Home } from '../../former/home.js';

let home: Home;
let device: TestDevice;

beforeAll(async () => {
  home = await Home.start({ GATEWAY_LOG_LEVEL: 'debug' });
  device = await home.device();
});

afterAll(() => home.remove());

const WRONG_LENGTH = 'a packet of the wrong length';
const NO_IDENTIFIER = 'no packet identifier';
const NO_QOS_2 = 'acknowledges a QoS 2 message: none is sent';

/** A message of the device with this text in it. */
function telemetry(text: string, messageId: number) {
  const message = publishPacket(`devices/${device.id}/x`, JSON.stringify(text));
  return { ...message, qos: 1, messageId } as const;
}

function has(text: string) {
  return (received: readonly Received[]) => received.some((one) => one.text.includes(text));
}

/** The device's messages up to one published now. */
async function textsUpToNow(nurse: Subscriber): Promise<string> {
  await home.publishLast(device, 'x', '"last"');
  await nurse.until(has('"last"'));
  return nurse.received.map(({ text }) => text).join('\n');
}

describe('[MQTT-4.8.0-1] the connection is ended by', () => {
  it.each([
    ['PUBACK without an identifier', WRONG_LENGTH, [0x40, 0]],
    ['PUBACK with half an identifier', WRONG_LENGTH, [0x40, 1, 0]],
    ['PUBACK with a byte too many', WRONG_LENGTH, [0x40, 3, 0, 1, 0]],
    ['[MQTT-2.3.1-6] PUBACK under identifier 0', NO_IDENTIFIER, [0x40, 2, 0, 0]],
    ['PUBREL without an identifier', WRONG_LENGTH, [0x62, 0]],
    ['PUBREL with half an identifier', WRONG_LENGTH, [0x62, 1, 0]],
    ['PUBREL with a byte too many', WRONG_LENGTH, [0x62, 3, 0, 1, 0]],
    ['[MQTT-2.3.1-6] PUBREL under identifier 0', NO_IDENTIFIER, [0x62, 2, 0, 0]],
    ['[MQTT-3.6.1-1] PUBREL with other flags', undefined, [0x60, 2, 0, 1]],
    ['[MQTT-4.3.2-1] PUBREC', NO_QOS_2, [0x50, 2, 0, 1]],
    ['PUBREC without an identifier', undefined, [0x50, 0]],
    ['PUBCOMP', NO_QOS_2, [0x70, 2, 0, 1]],
    ['PUBCOMP without an identifier', undefined, [0x70, 0]],
    ['PINGREQ of a byte', WRONG_LENGTH, [0xc0, 1, 0]],
    ['DISCONNECT of a byte', WRONG_LENGTH, [0xe0, 1, 0]],
    ['CONNACK', undefined, [0x20, 2, 0, 0]],
    ['SUBACK', undefined, [0x90, 3, 0, 1, 0]],
    ['UNSUBACK', undefined, [0xb0, 2, 0, 1]],
    ['PINGRESP', undefined, [0xd0, 0]],
  ])('%s', async (_what, reason, bytes) => {
    const from = home.gateway.lines.length;
    const sensor = await RawClient.connect(home.gateway, device);
    sensor.stream.write(Buffer.from(bytes));
    await sensor.closed();
    expect(sensor.packets.map(({ cmd }) => cmd)).toEqual(['connack']);
    const said = reason === undefined ? '' : `"reason":"${reason}",`;
    await home.gateway.logged(`${said}"msg":"${said ? 'connection ended' : 'disconnected'}"`, from);
  });

  it('later packets are not handled, even in the same write', async () => {
    const nurse = await home.nurse(device, 'x');
    const sensor = await RawClient.connect(home.gateway, device);
    sensor.stream.write(
      Buffer.concat([Buffer.from([0x40, 2, 0, 0]), Buffer.from([0x30, 0]), Buffer.from([0xc0, 0])]),
    );
    await sensor.closed();
    expect(sensor.packets.map(({ cmd }) => cmd)).toEqual(['connack']);
    const other = await RawClient.connect(home.gateway, device);
    other.send({ cmd: 'pubrec', messageId: 1 }, telemetry('behind', 1));
    await other.closed();
    expect(await textsUpToNow(nurse)).not.toContain('behind');
    await nurse.end();
  });
});

describe('a QoS 1 message', () => {
  it.each(['pubrec', 'pubcomp'] as const)('is not acknowledged by %s', async (cmd) => {
    const session = { clientId: `answers-with-${cmd}`, clean: false };
    const nurse = await RawClient.connect(home.gateway, home.viewer, session);
    await nurse.subscribe([home.filter(device, 'alarms/#')]);
    const sensor = await RawClient.connect(home.gateway, device);
    await sensor.publish(`devices/${device.id}/alarms`, '{"kind":"fall"}', 1);
    const { messageId, topic } = await nurse.next('publish');
    nurse.send({ cmd, messageId: messageId ?? 0 });
    await nurse.closed();
    const again = await RawClient.connect(home.gateway, home.viewer, session);
    expect(await again.next('publish')).toMatchObject({ topic, dup: true });
    for (const client of [again, sensor]) client.vanish();
  });
});

describe('[MQTT-3.14.4-2] a packet after DISCONNECT is not handled', () => {
  it('in the same write', async () => {
    const nurse = await home.nurse(device, 'x');
    const sensor = await RawClient.connect(home.gateway, device);
    sensor.send(telemetry('before', 1), { cmd: 'disconnect' }, telemetry('behind', 2));
    await sensor.closed();
    const texts = await textsUpToNow(nurse);
    expect(texts).toContain('before');
    expect(texts).not.toContain('behind');
    await nurse.end();
  });

  it('in a later write', async () => {
    const nurse = await home.nurse(device, 'x');
    const sensor = await RawClient.connect(home.gateway, device);
    sensor.send({ cmd: 'disconnect' });
    sensor.send(telemetry('behind', 1));
    await sensor.closed();
    expect(await textsUpToNow(nurse)).not.toContain('behind');
    await nurse.end();
  });

  it('in the same write as CONNECT', async () => {
    const nurse = await home.nurse(device, 'x');
    const sensor = await RawClient.open(home.gateway);
    const connect = connectPacket(credentials(device));
    const [before, behind] = [telemetry('before', 1), telemetry('behind', 2)];
    sensor.send(connect, before, { cmd: 'disconnect' }, behind);
    await sensor.closed();
    const texts = await textsUpToNow(nurse);
    expect(texts).toContain('before');
    expect(texts).not.toContain('behind');
    await nurse.end();
  });
});

describe('[MQTT-3.1.0-1] packets before CONNECT', () => {
  it('end their connection and nothing else', async () => {
    const client = await RawClient.open(home.gateway);
    client.send(telemetry('first', 1), telemetry('second', 2), telemetry('third', 3));
    await client.closed();
    const sensor = await RawClient.connect(home.gateway, device);
    await sensor.ping();
    sensor.stream.destroy();
  });
});

describe('packets in one write with CONNECT', () => {
  it('are handled in order once the connection is open', async () => {
    const manager = await RawClient.open(home.gateway);
    const command = home.filter(device, 'commands/light');
    const subscriptions = [{ topic: home.filter(device, 'x'), qos: 1 as const }];
    const unsubscriptions = [home.filter(device, 'x')];
    manager.send(
      connectPacket(credentials(home.manager)),
      { ...publishPacket(command, 'on'), qos: 1, messageId: 1 },
      { cmd: 'subscribe', messageId: 2, subscriptions },
      { cmd: 'unsubscribe', messageId: 3, unsubscriptions },
      { cmd: 'subscribe', messageId: 4, subscriptions },
      { cmd: 'pingreq' },
    );
    await manager.next('puback');
    await manager.next('suback');
    await manager.next('suback');
    const cmds = manager.packets.map(({ cmd }) => cmd);
    expect(cmds[0]).toBe('connack');
    expect(cmds.toSorted()).toEqual([
      'connack',
      'pingresp',
      'puback',
      'suback',
      'suback',
      'unsuback',
    ]);
    const sensor = await RawClient.connect(home.gateway, device);
    sensor.send(telemetry('after', 1));
    expect((await manager.next('publish')).payload.toString()).toContain('"after"');
    for (const client of [manager, sensor]) client.vanish();
  });

  it.each([1, 2] as const)('a publish at QoS %i is stored and acknowledged once', async (qos) => {
    const sensor = await RawClient.open(home.gateway);
    const own = await home.device();
    const alarm = publishPacket(`devices/${own.id}/alarms`, '{"kind":"fall"}');
    sensor.send(connectPacket(credentials(own)), { ...alarm, qos, messageId: 7 });
    await sensor.next(qos === 1 ? 'puback' : 'pubrec');
    expect((await home.api.alarms(own)).events).toHaveLength(1);
    expect(sensor.packets).toHaveLength(2);
    sensor.vanish();
  });

  it('are not handled when CONNECT gets an error', async () => {
    const nurse = await home.nurse(device, 'x');
    const sensor = await RawClient.open(home.gateway);
    const connect = connectPacket({ ...credentials(device), password: Buffer.from('wrong') });
    sensor.send(connect, telemetry('refused', 1));
    await sensor.closed();
    expect(sensor.packets).toMatchObject([{ cmd: 'connack', returnCode: 4 }]);
    expect(await textsUpToNow(nurse)).not.toContain('refused');
    await nurse.end();
  });
});

describe('several SUBSCRIBE and UNSUBSCRIBE in one write', () => {
  it.each([true, false])('take effect in order (clean session: %s)', async (clean) => {
    const clientId = `in-one-write-${clean}`;
    const nurse = await RawClient.connect(home.gateway, home.viewer, { clientId, clean });
    const filters = Array.from({ length: 20 }, (_, index) => home.filter(device, `f/${index}`));
    const packets = filters.flatMap((topic, index): Packet[] => {
      const unsubscriptions = [topic];
      const subscriptions = [{ topic, qos: 1 as const }];
      const messageId = 3 * index + 1;
      // The last packet about every other filter is UNSUBSCRIBE.
      const all: Packet[] = [
        { cmd: 'subscribe', subscriptions, messageId },
        { cmd: 'unsubscribe', unsubscriptions, messageId: messageId + 1 },
        { cmd: 'subscribe', subscriptions, messageId: messageId + 2 },
      ];
      return all.slice(0, index % 2 === 0 ? 3 : 2);
    });
    nurse.send(...packets);
    const isAnswer = ({ cmd }: { cmd?: string }) => cmd === 'suback' || cmd === 'unsuback';
    await nurse.until((came) => came.filter(isAnswer).length === packets.length, 'not all came');
    const sensor = await RawClient.connect(home.gateway, device);
    for (let index = 0; index < filters.length; index++) {
      await sensor.publish(`devices/${device.id}/f/${index}`, '1', 1, index + 1);
    }
    const topics = () => nurse.packets.flatMap((one) => (one.cmd === 'publish' ? one.topic : []));
    await nurse.until(() => topics().length === filters.length / 2, 'not all messages came');
    await nurse.ping();
    expect(topics()).toEqual(filters.filter((_, index) => index % 2 === 0));
    for (const client of [nurse, sensor]) client.vanish();
  });
});
