import fc from 'fast-check';
import { generate, type Packet } from 'mqtt-packet';
import { describe, expect, it } from 'vitest';
import { decode } from '../../src/mqtt/decode.js';
import { decodeConnect, UnknownVersionError } from '../../src/mqtt/decode-connect.js';
import { PacketError } from '../../src/mqtt/packet-error.js';
import type { MqttVersion } from '../../src/mqtt/packets.js';

const MALFORMED = 0x81;
const PROTOCOL = 0x82;

const identifiers = fc.integer({ min: 1, max: 65_535 });
const qos = fc.constantFrom(0 as const, 1 as const, 2 as const);
const texts = fc.string({ unit: 'grapheme', maxLength: 40 }).filter((text) => !text.includes('\0'));
const names = texts.filter((text) => text !== '' && !/[+#]/.test(text));
const buffers = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
const messageProperties = fc.record(
  {
    payloadFormatIndicator: fc.boolean(),
    messageExpiryInterval: fc.nat(),
    contentType: texts,
    responseTopic: names,
    correlationData: buffers,
    userProperties: fc.dictionary(texts, texts, { minKeys: 1, maxKeys: 3, noNullPrototype: true }),
  },
  { requiredKeys: [] },
);
const publishes = fc.record({
  cmd: fc.constant('publish' as const),
  qos,
  dup: fc.constant(false),
  retain: fc.boolean(),
  topic: names,
  payload: buffers,
  messageId: identifiers,
  properties: messageProperties,
});

function bytesOf(packet: Packet, protocolVersion: number): Buffer {
  return generate(packet, { protocolVersion });
}

function pairsOf(properties: Readonly<Record<string, unknown>> = {}): unknown {
  const pairs = Object.entries(properties);
  return pairs.length === 0 ? undefined : pairs;
}

describe('a packet made by mqtt-packet is decoded to its original:', () => {
  it.each([3, 4, 5] as const)('PUBLISH of version %i', (version) => {
    fc.assert(
      fc.property(publishes, (packet) => {
        const { messageId, properties, ...rest } = packet;
        const found = decode(bytesOf(packet, version), version);
        expect(found).toMatchObject({ ...rest, messageId: rest.qos === 0 ? 0 : messageId });
        if (found.cmd !== 'publish') throw new Error('no publish');
        const { payloadFormat, messageExpirySeconds, ...others } = found.properties ?? {};
        const given = version === 5 ? properties : {};
        expect(payloadFormat === undefined ? undefined : payloadFormat === 1).toBe(
          given.payloadFormatIndicator,
        );
        expect(messageExpirySeconds).toBe(given.messageExpiryInterval);
        expect(others.contentType).toBe(given.contentType);
        expect(others.responseTopic).toBe(given.responseTopic);
        expect(others.correlationData).toEqual(given.correlationData);
        expect(others.userProperties).toEqual(pairsOf(given.userProperties));
      }),
    );
  });

  it.each([4, 5] as const)('acknowledgements of version %i', (version) => {
    const commands = fc.constantFrom('puback', 'pubrec', 'pubrel', 'pubcomp');
    fc.assert(
      fc.property(commands, identifiers, fc.constantFrom(0, 0x10, 0x97), (cmd, messageId, code) => {
        const reasonCode = cmd === 'puback' || cmd === 'pubrec' ? code : 0;
        const properties = { reasonString: 'because' };
        const bytes = bytesOf({ cmd, messageId, reasonCode, properties } as Packet, version);
        const told = version === 5 ? reasonCode : 0;
        expect(decode(bytes, version)).toEqual({ cmd, messageId, reasonCode: told });
      }),
    );
  });

  it.each([4, 5] as const)('SUBSCRIBE and UNSUBSCRIBE of version %i', (version) => {
    const filters = fc.array(
      fc.record({ topic: names, qos, nl: fc.boolean(), rap: fc.boolean(), rh: fc.nat({ max: 2 }) }),
      { minLength: 1, maxLength: 5 },
    );
    fc.assert(
      fc.property(filters, identifiers, (subscriptions, messageId) => {
        const subscribe = { cmd: 'subscribe', messageId, subscriptions } as const;
        const properties = { subscriptionIdentifier: 300 };
        const found = decode(bytesOf({ ...subscribe, properties }, version), version);
        expect(found).toEqual({
          cmd: 'subscribe',
          messageId,
          subscriptionIdentifier: version === 5 ? 300 : undefined,
          filters: subscriptions.map(({ topic: filter, qos: granted, nl, rap, rh }) => ({
            filter,
            qos: granted,
            isNoLocal: version === 5 && nl,
            isRetainAsPublished: version === 5 && rap,
            retainHandling: version === 5 ? rh : 0,
          })),
        });
        const topics = subscriptions.map(({ topic }) => topic);
        const unsubscribe = { cmd: 'unsubscribe', messageId, unsubscriptions: topics } as const;
        expect(decode(bytesOf(unsubscribe, version), version)).toEqual({
          cmd: 'unsubscribe',
          messageId,
          filters: topics,
        });
      }),
    );
  });

  it.each([
    [3, 'MQIsdp'],
    [4, 'MQTT'],
    [5, 'MQTT'],
  ] as const)('CONNECT of version %i', (protocolVersion, protocolId) => {
    const wills = fc.option(
      fc.record({ topic: fc.constant('will'), payload: buffers, qos, retain: fc.boolean() }),
    );
    const keepAlives = fc.nat({ max: 65_535 });
    fc.assert(
      fc.property(wills, keepAlives, texts, fc.boolean(), (will, keepalive, clientId, clean) => {
        const bytes = bytesOf(
          {
            cmd: 'connect',
            protocolId,
            protocolVersion,
            clean,
            clientId: `c${clientId}`,
            keepalive,
            username: 'name',
            password: Buffer.from('secret'),
            ...(will !== null && { will }),
            properties: { sessionExpiryInterval: 60, receiveMaximum: 10 },
          },
          protocolVersion,
        );
        expect(decodeConnect(bytes)).toMatchObject({
          version: protocolVersion,
          clientId: `c${clientId}`,
          isCleanStart: clean,
          keepAliveSeconds: keepalive,
          username: 'name',
          password: Buffer.from('secret'),
          will: will ?? undefined,
          properties:
            protocolVersion === 5 ? { sessionExpirySeconds: 60, receiveMaximum: 10 } : undefined,
        });
      }),
    );
  });
});

/** The bytes of hexadecimal digits; blanks are only for readability. */
function hex(digits: string): Buffer {
  return Buffer.from(digits.replaceAll(' ', ''), 'hex');
}

/** A whole packet of less than 128 bytes. */
function packet(header: string, body: string): Buffer {
  const bytes = hex(body);
  return Buffer.concat([hex(header), Buffer.from([bytes.length]), bytes]);
}

function codeOf(work: () => unknown): number | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof PacketError) return error.reasonCode;
    throw error;
  }
}

describe('a packet is refused', () => {
  it.each<[string, number, MqttVersion, string, string]>([
    ['PUBLISH at QoS 3', MALFORMED, 4, '36', '0001 61 0001'],
    ['PUBLISH with DUP at QoS 0', MALFORMED, 4, '38', '0001 61'],
    ['PUBLISH with a topic longer than itself', MALFORMED, 4, '30', '0005 61'],
    ['PUBLISH with U+0000 in its topic', MALFORMED, 4, '30', '0001 00'],
    ['PUBLISH with a lone surrogate in its topic', MALFORMED, 4, '30', '0003 eda080'],
    ['PUBLISH with an overlong form in its topic', MALFORMED, 4, '30', '0002 c080'],
    ['PUBLISH without an identifier', MALFORMED, 4, '32', '0001 61'],
    ['PUBLISH under identifier 0', PROTOCOL, 4, '32', '0001 61 0000'],
    ['PUBLISH without a length of properties', MALFORMED, 5, '30', '0001 61'],
    ['PUBLISH with properties longer than itself', MALFORMED, 5, '30', '0001 61 05 0101'],
    ['PUBLISH with an unknown property', MALFORMED, 5, '30', '0001 61 02 7f01'],
    ['PUBLISH with a property of CONNECT', MALFORMED, 5, '30', '0001 61 05 1100000001'],
    ['PUBLISH with a subscription identifier', PROTOCOL, 5, '30', '0001 61 02 0b01'],
    ['PUBLISH with a payload format twice', PROTOCOL, 5, '30', '0001 61 04 01010101'],
    ['PUBLISH with a payload format of 2', PROTOCOL, 5, '30', '0001 61 02 0102'],
    ['PUBLISH with a property cut off', MALFORMED, 5, '30', '0001 61 03 020000'],
    ['PUBACK with flags', MALFORMED, 4, '42', '0001'],
    ['PUBACK with a byte too many', MALFORMED, 4, '40', '0001 00'],
    ['PUBACK with a property of PUBLISH', MALFORMED, 5, '40', '0001 00 02 0101'],
    ['PUBREL without its flags', MALFORMED, 4, '60', '0001'],
    ['SUBSCRIBE without its flags', MALFORMED, 4, '80', '0001 0001 61 00'],
    ['SUBSCRIBE of nothing', PROTOCOL, 4, '82', '0001'],
    ['SUBSCRIBE at QoS 3', MALFORMED, 4, '82', '0001 0001 61 03'],
    ['SUBSCRIBE with options of version 5', MALFORMED, 4, '82', '0001 0001 61 04'],
    ['SUBSCRIBE with reserved options', MALFORMED, 5, '82', '0001 00 0001 61 40'],
    ['SUBSCRIBE with retain handling 3', PROTOCOL, 5, '82', '0001 00 0001 61 30'],
    ['SUBSCRIBE with identifier 0 of its own', PROTOCOL, 5, '82', '0001 02 0b00 0001 61 00'],
    ['SUBSCRIBE with two identifiers', PROTOCOL, 5, '82', '0001 04 0b010b02 0001 61 00'],
    ['UNSUBSCRIBE of nothing', PROTOCOL, 4, 'a2', '0001'],
    ['PINGREQ with a byte', MALFORMED, 4, 'c0', '00'],
    ['DISCONNECT with a byte', MALFORMED, 4, 'e0', '00'],
    ['DISCONNECT with a receive maximum', MALFORMED, 5, 'e0', '00 03 210001'],
    ['AUTH before version 5', MALFORMED, 4, 'f0', ''],
    ['CONNECT', PROTOCOL, 4, '10', '0004 4d515454 04 02 0000 0000'],
    ['CONNACK', PROTOCOL, 4, '20', '0000'],
    ['SUBACK', PROTOCOL, 5, '90', '0001 00 00'],
    ['PINGRESP', PROTOCOL, 4, 'd0', ''],
  ])('%s', (_what, code, version, header, body) => {
    expect(codeOf(() => decode(packet(header, body), version))).toBe(code);
  });

  it.each<[string, number, string]>([
    ['CONNECT of another protocol', MALFORMED, '0004 4d515458 04 02 0000 0000'],
    ['CONNECT with the reserved flag', MALFORMED, '0004 4d515454 04 03 0000 0000'],
    ['CONNECT with a will at QoS 3', MALFORMED, '0004 4d515454 04 1e 0000 0000 0001 61 0000'],
    ['CONNECT with QoS of no will', PROTOCOL, '0004 4d515454 04 0a 0000 0000'],
    ['CONNECT with a password alone', MALFORMED, '0004 4d515454 04 42 0000 0000 0001 61'],
    ['CONNECT with a byte behind its fields', MALFORMED, '0004 4d515454 04 02 0000 0000 00'],
    ['CONNECT with a packet size of 0', PROTOCOL, '0004 4d515454 05 02 0000 05 2700000000 0000'],
    ['CONNECT with only authentication data', PROTOCOL, '0004 4d515454 05 02 0000 03 160000 0000'],
    ['CONNECT with a topic alias', MALFORMED, '0004 4d515454 05 02 0000 03 230001 0000'],
  ])('%s', (_what, code, body) => {
    expect(codeOf(() => decodeConnect(packet('10', body)))).toBe(code);
  });

  it.each(['0004 4d515454 06 03', '0004 4d515454 03', '0006 4d5149736470 04'])(
    'CONNECT of another level, whatever else is wrong with it: %s',
    (body) => {
      expect(() => decodeConnect(packet('10', body))).toThrow(UnknownVersionError);
    },
  );
});

it('preserves a U+FFFD intended by the client, and a byte order mark', () => {
  const topic = '\ufffd\ufefft';
  const bytes = bytesOf(
    { cmd: 'publish', qos: 0, dup: false, retain: false, topic, payload: '' },
    4,
  );
  expect(decode(bytes, 4)).toMatchObject({ topic });
});

it.each([
  ['PUBREL', [0x6a, 2, 0, 1]],
  ['SUBSCRIBE', [0x8a, 6, 0, 1, 0, 1, 0x61, 1]],
  ['UNSUBSCRIBE', [0xaa, 5, 0, 1, 0, 1, 0x61]],
])('%s of MQTT 3.1 may have DUP, as it is when sent again', (_name, bytes) => {
  expect(decode(Buffer.from(bytes), 3)).toMatchObject({ messageId: 1 });
  for (const version of [4, 5] as const) {
    expect(() => decode(Buffer.from(bytes), version)).toThrow(PacketError);
  }
});

it('the flags of a will that is not there are ignored in MQTT 3.1, and refused in 3.1.1', () => {
  const connect = (name: string, level: number) => {
    const fields = [0, name.length, ...Buffer.from(name), level, 0x2a, 0, 60, 0, 1, 0x61];
    return Buffer.from([0x10, fields.length, ...fields]);
  };
  expect(decodeConnect(connect('MQIsdp', 3))).toMatchObject({ clientId: 'a' });
  expect(() => decodeConnect(connect('MQTT', 4))).toThrow(PacketError);
});

it('any bytes are a packet, or a packet error', () => {
  const versions = fc.constantFrom<MqttVersion>(3, 4, 5);
  fc.assert(
    fc.property(
      fc.nat({ max: 255 }),
      fc.uint8Array({ maxLength: 40 }),
      versions,
      (first, rest, version) => {
        const bytes = Buffer.from([first, rest.length, ...rest]);
        try {
          decode(bytes, version);
        } catch (error) {
          expect(error).toBeInstanceOf(PacketError);
        }
        try {
          decodeConnect(bytes);
        } catch (error) {
          const isKnown = error instanceof PacketError || error instanceof UnknownVersionError;
          expect(isKnown).toBe(true);
        }
      },
    ),
    { numRuns: 20_000 },
  );
});
