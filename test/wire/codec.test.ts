/**
 * The decoder and the encoder of the gateway: each rule of MQTT in a row of `packets.ts`, and agreement with another
 * implementation, mqtt-packet, in both directions. What a client sees of a refused packet is in `live.test`.
 */
import fc from 'fast-check';
import { generate, type Packet, parser } from 'mqtt-packet';
import { publishOf } from '../../src/delivery/message.js';
import { PacketError, UNSUPPORTED_PROTOCOL_VERSION } from '../../src/mqtt/codes.js';
import { decode, decodeConnect, UnknownVersionError } from '../../src/mqtt/decode.js';
import { encodePublish, publishBytes } from '../../src/mqtt/encode.js';
import { encodeFields, joinFields, NO_PROPERTIES } from '../../src/mqtt/properties.js';
import { expect, test } from '../harness/index.js';
import { BAD_TEXTS, bytesOf, ODD_TEXTS, PACKETS, TEXT_FIELDS, textOf } from './packets.js';

/** A failed run names it, and `FUZZ_SEED` repeats it. */
const SEED = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31);
const FUZZED_PACKETS = 20_000;
const [MALFORMED, VERSIONS] = [0x81, [3, 4, 5] as const];

/** What the decoder says to the bytes; undefined if they are a packet. */
function refusal(state: string, bytes: Buffer, version: 3 | 4 | 5) {
  try {
    if (state === 'first') decodeConnect(bytes);
    else decode(bytes, version);
    return undefined;
  } catch (error) {
    if (error instanceof PacketError) return { code: error.reasonCode, reason: error.message };
    if (!(error instanceof UnknownVersionError)) throw error;
    return { code: UNSUPPORTED_PROTOCOL_VERSION, reason: error.message };
  }
}

const decoded = PACKETS.filter(({ state }) => state === 'first' || state === 'later');

test.for(decoded.map((row) => [row.name, row] as const))('%s', ([, row]) => {
  const { state, bytes, version, code, reason } = row;
  const refused = code === undefined ? undefined : { code, reason };
  expect(refusal(state, bytes, version)).toEqual(refused);
});

/** The packet with this text in the field. */
function packetWith(text: Buffer, fields: string): Buffer {
  return bytesOf(fields.replace('@', textOf(text).toString('hex')));
}

test.for(Object.entries(BAD_TEXTS))('%s is in no text', ([what, hex]) => {
  const text = Buffer.from(hex, 'hex');
  for (const [field, state, fields] of TEXT_FIELDS) {
    const refused = refusal(state, packetWith(text, fields), 4);
    const expected = { code: MALFORMED, reason: `unusable ${field}` };
    expect([what, fields, refused]).toEqual([what, fields, expected]);
  }
});

test.for(ODD_TEXTS)('%j may be in every text', (text) => {
  for (const [, state, fields] of TEXT_FIELDS) {
    const bytes = packetWith(Buffer.from(text), fields);
    expect([fields, refusal(state, bytes, 4)]).toEqual([fields, undefined]);
  }
  expect(decode(packetWith(Buffer.from(text), '30: @ 31'), 4)).toMatchObject({ topic: text });
});

test(`any bytes are a packet or a packet error (FUZZ_SEED=${SEED})`, () => {
  const bytesAndVersion = [
    fc.nat({ max: 255 }),
    fc.uint8Array({ maxLength: 40 }),
    fc.constantFrom(...VERSIONS),
  ] as const;
  const property = fc.property(...bytesAndVersion, (first, rest, version) => {
    const bytes = Buffer.from([first, rest.length, ...rest]);
    for (const state of ['first', 'later']) refusal(state, bytes, version);
  });
  fc.assert(property, { numRuns: FUZZED_PACKETS, seed: SEED });
});

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

test.for(VERSIONS)('the PUBLISH of another implementation is read, version %i', (version) => {
  fc.assert(
    fc.property(publishes, (packet) => {
      const { messageId, properties, ...rest } = packet;
      const found = decode(generate(packet, { protocolVersion: version }), version);
      expect(found).toMatchObject({ ...rest, messageId: rest.qos === 0 ? 0 : messageId });
      if (found.cmd !== 'publish') throw new Error('no publish');
      const { payloadFormat, messageExpirySeconds, userProperties, ...others } =
        found.properties ?? {};
      const given = version === 5 ? properties : {};
      const pairs = Object.entries(given.userProperties ?? {});
      expect([payloadFormat, messageExpirySeconds, userProperties]).toEqual([
        given.payloadFormatIndicator === undefined
          ? undefined
          : Number(given.payloadFormatIndicator),
        given.messageExpiryInterval,
        pairs.length === 0 ? undefined : pairs,
      ]);
      const { contentType, responseTopic, correlationData } = given;
      expect({ contentType, responseTopic, correlationData }).toEqual({
        contentType: undefined,
        responseTopic: undefined,
        correlationData: undefined,
        ...others,
      });
    }),
  );
});

test.for([4, 5] as const)('its acknowledgements are read, version %i', (version) => {
  const commands = fc.constantFrom('puback', 'pubrec', 'pubrel', 'pubcomp');
  const codes = fc.constantFrom(0, 0x10, 0x97);
  fc.assert(
    fc.property(commands, identifiers, codes, (cmd, messageId, code) => {
      const reasonCode = cmd === 'puback' || cmd === 'pubrec' ? code : 0;
      const packet = { cmd, messageId, reasonCode, properties: { reasonString: 'because' } };
      const bytes = generate(packet, { protocolVersion: version });
      const told = version === 5 ? reasonCode : 0;
      expect(decode(bytes, version)).toEqual({ cmd, messageId, reasonCode: told });
    }),
  );
});

test.for([4, 5] as const)('its SUBSCRIBE and UNSUBSCRIBE are read, version %i', (version) => {
  const filter = fc.record({
    topic: names,
    qos,
    nl: fc.boolean(),
    rap: fc.boolean(),
    rh: fc.nat({ max: 2 }),
  });
  const filters = fc.array(filter, { minLength: 1, maxLength: 5 });
  const isFive = version === 5;
  fc.assert(
    fc.property(filters, identifiers, (subscriptions, messageId) => {
      const properties = { subscriptionIdentifier: 300 };
      const subscribe = { cmd: 'subscribe', messageId, subscriptions, properties } as const;
      expect(decode(generate(subscribe, { protocolVersion: version }), version)).toEqual({
        cmd: 'subscribe',
        messageId,
        subscriptionIdentifier: isFive ? 300 : undefined,
        filters: subscriptions.map(({ topic, qos: requested, nl, rap, rh }) => ({
          filter: topic,
          qos: requested,
          isNoLocal: isFive && nl,
          isRetainAsPublished: isFive && rap,
          retainHandling: isFive ? rh : 0,
        })),
      });
      const topics = subscriptions.map(({ topic }) => topic);
      const unsubscribe = { cmd: 'unsubscribe', messageId, unsubscriptions: topics } as const;
      const read = decode(generate(unsubscribe, { protocolVersion: version }), version);
      expect(read).toEqual({ cmd: 'unsubscribe', messageId, filters: topics });
    }),
  );
});

test.for(VERSIONS)('its CONNECT is read, version %i', (protocolVersion) => {
  const isFive = protocolVersion === 5;
  const will = fc.record({
    topic: fc.constant('will'),
    payload: buffers,
    qos,
    retain: fc.boolean(),
  });
  const connects = fc.record({
    will: fc.option(will, { nil: undefined }),
    keepalive: fc.nat({ max: 65_535 }),
    clientId: texts.map((text) => `c${text}`),
    clean: fc.boolean(),
  });
  fc.assert(
    fc.property(connects, ({ will: last, ...fields }) => {
      const packet = {
        cmd: 'connect',
        protocolId: protocolVersion === 3 ? 'MQIsdp' : 'MQTT',
        protocolVersion,
        username: 'name',
        password: Buffer.from('secret'),
        properties: { sessionExpiryInterval: 60, receiveMaximum: 10 },
        ...fields,
        ...(last !== undefined && { will: last }),
      } as const;
      expect(decodeConnect(generate(packet, { protocolVersion }))).toMatchObject({
        version: protocolVersion,
        clientId: fields.clientId,
        isCleanStart: fields.clean,
        keepAliveSeconds: fields.keepalive,
        username: 'name',
        password: Buffer.from('secret'),
        will: last,
        properties: isFive ? { sessionExpirySeconds: 60, receiveMaximum: 10 } : undefined,
      });
    }),
  );
});

/** What another implementation reads in the bytes of one packet. */
function readBy(bytes: Buffer, protocolVersion: number): Packet {
  const received: Packet[] = [];
  const packets = parser({ protocolVersion }).on('packet', (packet) => received.push(packet));
  expect(packets.parse(bytes)).toBe(0);
  const [packet] = received;
  if (packet === undefined) throw new Error('no packet');
  return packet;
}

const TOPIC = 'care-homes/hôme/devices/bed/alarms/fall';
const HEADER_BYTES = 45;
/** Around the lengths from which the remaining length takes one more byte (3.1.1, 2.2.3). */
const PAYLOADS = [0, 1, 128, 16_384, 2_097_152].flatMap((bytes) =>
  bytes <= 1 ? [bytes] : Array.from({ length: 9 }, (_, more) => bytes - HEADER_BYTES - 4 + more),
);

test.for([4, 5] as const)('another implementation reads the PUBLISH of version %i', (version) => {
  for (const level of [0, 1, 2] as const) {
    for (const [index, length] of PAYLOADS.entries()) {
      const payload = Buffer.alloc(length, 'x');
      const flags = { retain: index % 2 === 0, dup: index % 3 === 0 };
      const sent = { topic: TOPIC, payload, qos: level, ...flags, messageId: 65_000 + index };
      const bytes = encodePublish(sent, version === 5 ? NO_PROPERTIES : undefined);
      const packet = readBy(bytes, version);
      if (packet.cmd !== 'publish') throw new Error(`no PUBLISH of ${length} bytes came`);
      expect(payload.equals(Buffer.from(packet.payload))).toBe(true);
      expect(packet).toMatchObject({ topic: TOPIC, qos: level, ...flags });
      expect(packet.messageId).toBe(level === 0 ? undefined : sent.messageId);
      if (version === 5) expect(publishBytes(TOPIC, payload, level)).toBe(bytes.length);
    }
  }
});

test('another implementation reads its properties', () => {
  const both = { contentType: 'text/plain', responseTopic: 'answers', topicAlias: 300 };
  const correlationData = Buffer.from([0, 255]);
  const fields = encodeFields({
    ...both,
    correlationData,
    payloadFormat: 1,
    messageExpirySeconds: 70_000,
    subscriptionIdentifiers: [1, 128, 268_435_455],
    userProperties: [
      ['a', '1'],
      ['a', '2'],
      ['', ''],
    ],
  });
  const publish = { topic: TOPIC, payload: Buffer.from('x'), qos: 0, retain: false } as const;
  const properties = joinFields([fields, encodeFields({})]);
  const bytes = encodePublish({ ...publish, dup: false, messageId: 0 }, properties);
  expect(readBy(bytes, 5)).toMatchObject({
    payload: publish.payload,
    properties: {
      ...both,
      correlationData,
      payloadFormatIndicator: true,
      messageExpiryInterval: 70_000,
      subscriptionIdentifier: [1, 128, 268_435_455],
      userProperties: { a: ['1', '2'], '': '' },
    },
  });
});

test('an expiry is within the range of a packet, even when the clock has gone back', () => {
  const properties = { fields: Buffer.alloc(0), expiresAtMs: 5_000_000_000_000, isRetained: false };
  const about = { topic: TOPIC, locationId: null, groupId: null, receivedAtMs: 0 };
  const message = { ...about, payload: Buffer.from('x'), properties };
  const forwarding = { isRetainAsPublished: false, identifiers: undefined };
  const { expirySeconds } = publishOf(
    message,
    { qos: 0, messageId: 0, dup: false },
    forwarding,
    () => 0,
  );
  expect(expirySeconds).toBe(0xffffffff);
  expect(() => encodeFields({ messageExpirySeconds: expirySeconds })).not.toThrow();
});
