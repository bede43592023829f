import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestDevice } from '../../former/clients/api.js';
import { RawClient } from '../../former/clients/raw-client.js';
import { Home } from '../../former/home.js';
import {
  type Connect,
  connectOf,
  endedBy,
  gone,
  packet,
  publish,
  subscribe,
  text,
  uint16,
} from './raw-packets.js';

let home: Home;
let device: TestDevice;

beforeAll(async () => {
  home = await Home.start({ GATEWAY_LOG_LEVEL: 'debug' });
  device = await home.device();
});

afterAll(() => home.remove());

const connect = (options?: Connect) => connectOf(device, options);

function unsubscribe(messageId: number, ...filters: readonly Buffer[]): Buffer {
  return packet(0xa2, uint16(messageId), ...filters);
}

const own = (...rest: (string | readonly number[])[]) => text(`devices/${device.id}/`, ...rest);
const commands = (...rest: (string | readonly number[])[]) => own('commands/', ...rest);

const ILL_FORMED: readonly (readonly [string, readonly number[]])[] = [
  ['the byte FF', [0xff]],
  ['a surrogate', [0xed, 0xa0, 0x80]],
  ['an overlong character', [0xc1, 0x81]],
  ['half a character', [0xc3]],
  ['U+0000', [0x00]],
];

describe.each(ILL_FORMED)(
  '[MQTT-1.5.3-1] [MQTT-1.5.3-2] a text with %s ends the connection',
  (_what, bytes) => {
    it.each([
      ['topic at QoS 0', 'unusable topic', () => publish(0x30, own('x', bytes))],
      ['topic at QoS 1', 'unusable topic', () => publish(0x32, own(bytes, 'x'), 1)],
      ['topic at QoS 2', 'unusable topic', () => publish(0x34, own('x', bytes, 'x'), 1)],
      ['filter', 'unusable filter', () => subscribe(1, commands('#'), commands('x', bytes))],
      ['filter to forget', 'unusable filter', () => unsubscribe(1, commands('#'), text(bytes))],
    ])('as a %s', async (_where, reason, packetOf) => {
      const nurse = await home.nurse(device, '#');
      const before = nurse.received.length;
      const from = home.gateway.lines.length;
      const sensor = await RawClient.connect(home.gateway, device);
      expect(await endedBy(sensor, packetOf())).toEqual([['connack', 0]]);
      await home.gateway.logged(`"reason":"${reason}","msg":"connection ended"`, from);
      await home.publishLast(device, 'last', '"last"');
      await nurse.until((received) => received.some(({ text: json }) => json.includes('"last"')));
      expect(nurse.received.slice(before).filter((one) => one.text.includes('"wire"'))).toEqual([]);
      await nurse.end();
    });

    it.each([
      ['client id', 'unusable client id', () => connect({ clientId: text('x', bytes) })],
      ['user name', 'unusable user name', () => connect({ username: text(device.id, bytes) })],
      [
        'topic of a will',
        'unusable topic of the will',
        () => connect({ will: [own('x', bytes), text([...gone])] }),
      ],
    ])('as a %s', async (_where, reason, packetOf) => {
      const from = home.gateway.lines.length;
      expect(await endedBy(await RawClient.open(home.gateway), packetOf())).toEqual([]);
      await home.gateway.logged(`"reason":"${reason}","msg":"connect error"`, from);
    });
  },
);

describe('well-formed input is accepted', () => {
  it.each(['名前', '\u{10ffff}', '\ufeffx', '\ufffc', '\u0001'])('as a text: %j', async (name) => {
    const client = await RawClient.open(home.gateway);
    client.stream.write(connect({ clientId: text(name), will: [own(name), text([...gone])] }));
    expect((await client.next('connack')).returnCode).toBe(0);
    client.stream.write(publish(0x32, own(name), 1));
    await client.next('puback');
    client.stream.write(subscribe(2, commands(name)));
    expect((await client.next('suback')).granted).toEqual([1]);
    client.stream.write(unsubscribe(3, commands(name)));
    await client.next('unsuback');
    client.vanish();
  });

  it('in a payload and a password, whatever the bytes', async () => {
    const client = await RawClient.connect(home.gateway, device);
    await client.publish(`devices/${device.id}/x`, Buffer.from([0xff, 0x00, 0xed]), 1);
    client.vanish();
    const guess = await RawClient.open(home.gateway);
    const bytes = connect();
    // The last byte of the secret.
    bytes.writeUInt8(0xff, bytes.length - 1);
    expect(await endedBy(guess, bytes)).toEqual([['connack', 4]]);
  });
});

describe('the connection is ended by', () => {
  it.each([
    [
      '[MQTT-2.3.1-1] SUBSCRIBE under packet identifier 0',
      'no packet identifier',
      () => subscribe(0, commands('#')),
    ],
    [
      '[MQTT-2.3.1-1] UNSUBSCRIBE under packet identifier 0',
      'no packet identifier',
      () => unsubscribe(0, commands('#')),
    ],
    [
      '[MQTT-2.3.1-1] PUBLISH at QoS 1 under packet identifier 0',
      'no packet identifier',
      () => publish(0x32, own('x'), 0),
    ],
    [
      '[MQTT-2.3.1-1] PUBLISH at QoS 2 under packet identifier 0',
      'no packet identifier',
      () => publish(0x34, own('x'), 0),
    ],
    ['[MQTT-3.8.3-3] SUBSCRIBE without filters', 'no filters', () => subscribe(1)],
    ['[MQTT-3.10.3-2] UNSUBSCRIBE without filters', 'no filters', () => unsubscribe(1)],
    ['[MQTT-3.3.1-2] PUBLISH at QoS 0 with DUP', 'DUP at QoS 0', () => publish(0x38, own('x'))],
    [
      '[MQTT-3.3.1-2] PUBLISH at QoS 0 with DUP and RETAIN',
      'DUP at QoS 0',
      () => publish(0x39, own('x')),
    ],
  ])('%s', async (_what, reason, packetOf) => {
    const from = home.gateway.lines.length;
    const sensor = await RawClient.connect(home.gateway, device);
    expect(await endedBy(sensor, packetOf())).toEqual([['connack', 0]]);
    await home.gateway.logged(`"reason":"${reason}","msg":"connection ended"`, from);
  });
});
