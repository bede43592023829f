import { type Packet, parser } from 'mqtt-packet';
import { describe, expect, it } from 'vitest';
import { publishOf } from '../../src/delivery/log/log-entry.js';
import { encodePublish, publishBytes } from '../../src/mqtt/encode.js';
import { encodeFields, joinFields, NO_PROPERTIES } from '../../src/mqtt/encode-properties.js';

const TOPIC = 'care-homes/hôme/devices/bed/alarms/fall';
const HEADER_BYTES = 45;
/** Lengths around those where the remaining length takes one more byte (MQTT 2.2.3). */
const PAYLOADS = [0, 1, 128, 16_384, 2_097_152].flatMap((bytes) =>
  bytes <= 1 ? [bytes] : Array.from({ length: 9 }, (_, more) => bytes - HEADER_BYTES - 4 + more),
);

describe.each([4, 5] as const)('with version %i of the protocol', (protocol) => {
  it.each([0, 1, 2] as const)('a PUBLISH at QoS %i is read as encoded', (qos) => {
    for (const [index, length] of PAYLOADS.entries()) {
      const payload = Buffer.alloc(length, 'x');
      const flags = { retain: index % 2 === 0, dup: index % 3 === 0 };
      const sent = { topic: TOPIC, payload, qos, ...flags, messageId: 65_000 + index };
      const bytes = encodePublish(sent, protocol === 5 ? NO_PROPERTIES : undefined);
      const received: Packet[] = [];
      const packets = parser({ protocolVersion: protocol });
      packets.on('packet', (packet) => received.push(packet));
      expect(packets.parse(bytes)).toBe(0);
      const [packet] = received;
      if (packet?.cmd !== 'publish') throw new Error(`no PUBLISH of ${length} bytes came`);
      expect(payload.equals(Buffer.from(packet.payload))).toBe(true);
      expect(packet).toMatchObject({ topic: TOPIC, qos, ...flags });
      expect(packet.messageId).toBe(qos === 0 ? undefined : sent.messageId);
      if (protocol === 5) expect(publishBytes(TOPIC, payload, qos)).toBe(bytes.length);
    }
  });
});

it('properties are read as encoded', () => {
  const properties = {
    payloadFormat: 1,
    messageExpirySeconds: 70_000,
    contentType: 'text/plain',
    responseTopic: 'answers',
    correlationData: Buffer.from([0, 255]),
    subscriptionIdentifiers: [1, 128, 268_435_455],
    topicAlias: 300,
    userProperties: [
      ['a', '1'],
      ['a', '2'],
      ['', ''],
    ] as const,
  };
  const publish = { topic: TOPIC, payload: Buffer.from('x'), qos: 0, retain: false } as const;
  const encoded = joinFields([encodeFields(properties), encodeFields({})]);
  const bytes = encodePublish({ ...publish, dup: false, messageId: 0 }, encoded);
  const packets = parser({ protocolVersion: 5 });
  const received: Packet[] = [];
  packets.on('packet', (packet) => received.push(packet));
  packets.parse(bytes);
  expect(received).toMatchObject([
    {
      payload: publish.payload,
      properties: {
        payloadFormatIndicator: true,
        messageExpiryInterval: 70_000,
        contentType: 'text/plain',
        responseTopic: 'answers',
        correlationData: Buffer.from([0, 255]),
        subscriptionIdentifier: [1, 128, 268_435_455],
        topicAlias: 300,
        userProperties: { a: ['1', '2'], '': '' },
      },
    },
  ]);
});

it('an expiry is within the range of a packet, even when the clock has gone back', () => {
  const properties = { fields: Buffer.alloc(0), expiresAtMs: 5_000_000_000_000, isRetained: false };
  const message = { topic: TOPIC, payload: Buffer.from('x'), retain: false, properties };
  const forwarding = { isRetainAsPublished: false, identifiers: undefined };
  const { expirySeconds } = publishOf(message, { qos: 0, messageId: 0 }, forwarding, () => 0);
  expect(expirySeconds).toBe(0xffffffff);
  expect(() => encodeFields({ messageExpirySeconds: expirySeconds })).not.toThrow();
});
