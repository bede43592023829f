import { generate } from 'mqtt-packet';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectPacket, credentials, RawClient } from '../../former/clients/raw-client.js';
import { eventually } from '../../former/eventually.js';
import { Home } from '../../former/home.js';

let home: Home;

beforeAll(async () => {
  home = await Home.start();
});

afterAll(() => home.remove());

const FIVE = { protocolVersion: 5 } as const;

describe('a packet of MQTT 5 that breaks a rule', () => {
  it.each([
    ['a subscription identifier in a PUBLISH', 0x82, [0x30, 7, 0, 1, 0x61, 2, 0x0b, 1, 0x78]],
    ['neither a topic nor an alias', 0x82, [0x30, 4, 0, 0, 0, 0x78]],
    ['a property that only servers send', 0x81, [0x30, 7, 0, 1, 0x61, 2, 0x24, 1, 0x78]],
    ['a length of the packet in too many bytes', 0x81, [0xc0, 0x80, 0x00]],
    ['a length of the properties in too many bytes', 0x81, [0x30, 6, 0, 1, 0x61, 0x80, 0, 0x78]],
  ])('gets DISCONNECT for %s', async (_, code, bytes) => {
    const client = await RawClient.connect(home.gateway, await home.device(), FIVE);
    client.stream.write(Buffer.from(bytes));
    expect((await client.next('disconnect')).reasonCode).toBe(code);
  });

  it('gets CONNACK for a length of its CONNECT in too many bytes', async () => {
    const connect = generate(connectPacket({ ...credentials(await home.device()), ...FIVE }), FIVE);
    const client = await RawClient.open(home.gateway, 5);
    // One byte of length becomes two.
    const length = connect[1] ?? 0;
    client.stream.write(
      Buffer.concat([Buffer.from([0x10, length | 0x80, 0x00]), connect.subarray(2)]),
    );
    expect((await client.next('connack')).reasonCode).toBe(0x81);
  });
});

describe('a client of MQTT 5 that takes small packets only', () => {
  /** Connects with a maximum packet size; resolves to the bytes of CONNACK and its reason code. */
  async function connack(maximumPacketSize: number) {
    const client = await RawClient.open(home.gateway, 5);
    const bytes: Buffer[] = [];
    client.stream.on('data', (chunk: Buffer) => bytes.push(chunk));
    const properties = { maximumPacketSize, requestResponseInformation: true };
    client.send(connectPacket({ ...credentials(await home.device()), ...FIVE, properties }));
    const { reasonCode } = await client.next('connack');
    client.vanish();
    return { length: Buffer.concat(bytes).length, reasonCode };
  }

  it('gets no CONNACK that is larger', async () => {
    const whole = await connack(1_000);
    expect(whole.reasonCode).toBe(0);
    const shorter = await connack(whole.length - 1);
    expect(shorter.reasonCode).toBe(0);
    expect(shorter.length).toBeLessThan(whole.length);
    const { length, reasonCode } = await connack(6);
    expect([length <= 6, reasonCode]).toEqual([true, 0x95]);
    // None of them is left in the list of those who are connected.
    await eventually(async () => {
      expect(await home.api.json('GET', '/connections')).toMatchObject({ connections: [] });
    });
  });

  it('gets no SUBACK or UNSUBACK that is larger, but is told so', async () => {
    const filters = Array.from({ length: 100 }, (_, index) => `care-homes/+/devices/${index}/#`);
    for (const packet of [
      {
        cmd: 'subscribe',
        messageId: 1,
        subscriptions: filters.map((topic) => ({ topic, qos: 1 as const })),
      },
      { cmd: 'unsubscribe', messageId: 1, unsubscriptions: filters },
    ] as const) {
      const properties = { maximumPacketSize: 60 };
      const client = await RawClient.connect(home.gateway, home.viewer, { ...FIVE, properties });
      client.send(packet);
      expect((await client.next('disconnect')).reasonCode).toBe(0x95);
    }
  });
});

describe('a client of MQTT 3.1', () => {
  async function connectOlder(change: (packet: Buffer) => void) {
    const who = { ...credentials(home.viewer), clientId: 'older', clean: false };
    const older = { protocolId: 'MQIsdp', protocolVersion: 3 } as const;
    const packet = generate(connectPacket({ ...who, ...older }));
    change(packet);
    const client = await RawClient.open(home.gateway);
    const first = new Promise<Buffer>((resolve) => client.stream.once('data', resolve));
    client.stream.write(packet);
    const connack = await first;
    client.vanish();
    return [...connack];
  }

  it('is told nothing of its session, which that version does not know', async () => {
    for (let time = 0; time < 2; time++) {
      expect(await connectOlder(() => undefined)).toEqual([0x20, 2, 0, 0]);
    }
  });

  it('may set the flag that only later versions reserve', async () => {
    const FLAGS_AT = 2 + 2 + 'MQIsdp'.length + 1;
    const set = (packet: Buffer) => packet.writeUInt8(packet.readUInt8(FLAGS_AT) | 1, FLAGS_AT);
    expect(await connectOlder(set)).toEqual([0x20, 2, 0, 0]);
  });
});
