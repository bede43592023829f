import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWebSocketStream, WebSocket } from 'ws';
import type { TestDevice } from '../../harness/clients/api.js';
import { credentials, RawClient } from '../../harness/clients/raw-client.js';
import { Home } from '../../harness/home.js';

let home: Home;
let device: TestDevice;

beforeAll(async () => {
  home = await Home.start({ GATEWAY_LOG_LEVEL: 'debug' });
  device = await home.device();
});

afterAll(() => home.remove());

/** A text as MQTT writes it, from characters or any bytes: the length comes first, in two bytes. */
function text(...parts: (string | readonly number[])[]): Buffer {
  const bytes = Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))),
  );
  return Buffer.concat([uint16(bytes.length), bytes]);
}

function uint16(value: number): Buffer {
  return Buffer.from([value >> 8, value & 0xff]);
}

/** A packet of less than 16,384 bytes. */
function packet(header: number, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const length =
    body.length < 128 ? [body.length] : [(body.length & 0x7f) | 0x80, body.length >> 7];
  return Buffer.concat([Buffer.from([header, ...length]), body]);
}

interface Connect {
  readonly protocol?: string;
  readonly level?: number;
  readonly flags?: number;
  readonly clientId?: Buffer;
  /** Topic and payload of a will, if the flags announce one. */
  readonly will?: readonly Buffer[];
  readonly username?: Buffer;
  readonly behind?: Buffer;
}

const CLEAN = 0x02;
const WILL = 0x04;
const WILL_QOS_3 = 0x18;
const PASSWORD = 0x40;
const USER_NAME = 0x80;

/** A CONNECT with the credentials of the device, and these options. */
function connect(options: Connect = {}): Buffer {
  const { username, password } = credentials(device);
  const flags = options.flags ?? USER_NAME | PASSWORD | CLEAN | (options.will ? WILL : 0);
  return packet(
    0x10,
    text(options.protocol ?? 'MQTT'),
    Buffer.from([options.level ?? 4, flags]),
    uint16(60),
    options.clientId ?? text('wire'),
    ...(options.will ?? []),
    ...(flags & USER_NAME ? [options.username ?? text(username)] : []),
    ...(flags & PASSWORD ? [text([...password])] : []),
    options.behind ?? Buffer.alloc(0),
  );
}

function publish(header: number, topic: Buffer, messageId?: number): Buffer {
  const identifier = messageId === undefined ? [] : [uint16(messageId)];
  return packet(header, topic, ...identifier, Buffer.from('"wire"'));
}

function subscribe(messageId: number, ...filters: readonly Buffer[]): Buffer {
  const each = filters.map((filter) => Buffer.concat([filter, Buffer.from([1])]));
  return packet(0x82, uint16(messageId), ...each);
}

function unsubscribe(messageId: number, ...filters: readonly Buffer[]): Buffer {
  return packet(0xa2, uint16(messageId), ...filters);
}

const own = (...rest: (string | readonly number[])[]) => text(`devices/${device.id}/`, ...rest);
const commands = (...rest: (string | readonly number[])[]) => own('commands/', ...rest);
const gone = Buffer.from('"gone"');

/** Sends the bytes. Resolves to the answers once the connection has ended. */
async function endedBy(client: RawClient, bytes: Buffer): Promise<unknown[]> {
  client.stream.write(bytes);
  await client.closed();
  return client.packets.map((one) => ('returnCode' in one ? [one.cmd, one.returnCode] : one.cmd));
}

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

describe('the protocol level of a CONNECT [MQTT-3.1.2-2]', () => {
  it.each([0, 1, 2, 6, 9, 127])('%i is answered with 1', async (level) => {
    const from = home.gateway.lines.length;
    const client = await RawClient.open(home.gateway);
    // CONNECT, and what a client may send without waiting for CONNACK.
    const bytes = Buffer.concat([connect({ level }), publish(0x32, own('x'), 1)]);
    expect(await endedBy(client, bytes)).toEqual([['connack', 1]]);
    const reason = 'unacceptable protocol version';
    await home.gateway.logged(`"reason":"${reason}","msg":"connect error"`, from);
  });

  it('3 is MQTT 3.1, and accepted', async () => {
    const client = await RawClient.open(home.gateway);
    client.stream.write(connect({ protocol: 'MQIsdp', level: 3 }));
    expect((await client.next('connack')).returnCode).toBe(0);
    await client.ping();
    client.vanish();
  });

  it.each([
    ['MQIsdp', 4],
    ['MQTT', 3],
  ])(
    '[MQTT-3.1.2-1] of %s %i, which is not a protocol, gets no answer',
    async (protocol, level) => {
      const from = home.gateway.lines.length;
      const client = await RawClient.open(home.gateway);
      expect(await endedBy(client, connect({ protocol, level }))).toEqual([]);
      const reason = 'a protocol name of another level';
      await home.gateway.logged(`"reason":"${reason}","msg":"connect error"`, from);
    },
  );

  it('of another protocol gets no answer', async () => {
    const client = await RawClient.open(home.gateway);
    expect(await endedBy(client, connect({ protocol: 'HTTP', level: 9 }))).toEqual([]);
  });
});

describe('an overlong client id [MQTT-3.1.3-9]', () => {
  const clientId = text('ü'.repeat(128), 'x');

  it('is answered with 2', async () => {
    const from = home.gateway.lines.length;
    const client = await RawClient.open(home.gateway);
    const bytes = Buffer.concat([connect({ clientId }), subscribe(1, commands('#'))]);
    expect(await endedBy(client, bytes)).toEqual([['connack', 2]]);
    await home.gateway.logged('"reason":"client id too long","msg":"connect error"', from);
  });

  it('is answered over WebSocket', async () => {
    const socket = new WebSocket(`${home.gateway.httpUrl.replace('http', 'ws')}/mqtt`, ['mqtt']);
    const client = new RawClient(createWebSocketStream(socket));
    await once(socket, 'open');
    expect(await endedBy(client, connect({ clientId }))).toEqual([['connack', 2]]);
  });

  it('is not answered when the packet has another fault', async () => {
    const client = await RawClient.open(home.gateway);
    const will = [own('x'), text([...gone])];
    const flags = USER_NAME | PASSWORD | CLEAN | WILL | WILL_QOS_3;
    expect(await endedBy(client, connect({ clientId, will, flags }))).toEqual([]);
  });
});

describe('a second CONNECT gets no answer [MQTT-3.1.0-2]', () => {
  it.each([
    ['of an unknown level', () => connect({ level: 9 })],
    ['with a client id that is too long', () => connect({ clientId: text('x'.repeat(257)) })],
  ])('%s', async (_what, packetOf) => {
    const client = await RawClient.connect(home.gateway, device);
    expect(await endedBy(client, packetOf())).toEqual([['connack', 0]]);
    const hasty = await RawClient.open(home.gateway);
    // Both CONNECTs are sent before the answer to the first.
    expect(await endedBy(hasty, Buffer.concat([connect(), packetOf()]))).toEqual([['connack', 0]]);
  });
});

describe('the flags of a CONNECT', () => {
  it.each([
    [
      '[MQTT-3.1.2-14] with a will at QoS 3',
      'unusable QoS of the will',
      () =>
        connect({
          flags: USER_NAME | PASSWORD | CLEAN | WILL | WILL_QOS_3,
          will: [own('x'), text([...gone])],
        }),
    ],
    [
      '[MQTT-3.1.2-22] with a password and no user name',
      'a password without a user name',
      () => connect({ flags: PASSWORD | CLEAN }),
    ],
    [
      '[MQTT-3.1.2-20] without that of the password that is there',
      'bytes behind the fields of CONNECT',
      () => connect({ flags: USER_NAME | CLEAN, behind: text([...credentials(device).password]) }),
    ],
    [
      '[MQTT-3.1.2-18] without that of the user name that is there',
      'bytes behind the fields of CONNECT',
      () => connect({ flags: CLEAN, behind: text(device.id) }),
    ],
    [
      '[MQTT-3.1.4-1] with a byte that none announces',
      'bytes behind the fields of CONNECT',
      () => connect({ behind: Buffer.from([0]) }),
    ],
    [
      '[MQTT-4.7.3-1] with a will on an empty topic',
      'unusable topic of the will',
      () => connect({ will: [text(''), text([...gone])] }),
    ],
  ])('%s end the connection', async (_what, reason, packetOf) => {
    const from = home.gateway.lines.length;
    expect(await endedBy(await RawClient.open(home.gateway), packetOf())).toEqual([]);
    await home.gateway.logged(`"reason":"${reason}","msg":"connect error"`, from);
  });

  it('with a user name and no password are answered with 5', async () => {
    const bytes = connect({ flags: USER_NAME | CLEAN });
    expect(await endedBy(await RawClient.open(home.gateway), bytes)).toEqual([['connack', 5]]);
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
