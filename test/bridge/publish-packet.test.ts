import { type Packet, parser } from 'mqtt-packet';
import { describe, expect, it } from 'vitest';
import { encodePublish, packetBytes } from '../../src/bridge/publish-packet.js';

const TOPIC = 'care-homes/hôme/devices/bed/alarms/fall';
const HEADER_BYTES = 45;
/** Where the remaining length takes a byte more (MQTT 2.2.3), and around it. */
const PAYLOADS = [0, 1, 128, 16_384, 2_097_152].flatMap((bytes) =>
  bytes <= 1 ? [bytes] : Array.from({ length: 9 }, (_, more) => bytes - HEADER_BYTES - 4 + more),
);

describe.each([4, 5] as const)('with version %i of the protocol', (protocol) => {
  it.each([0, 1, 2] as const)('an upstream reads what was encoded at QoS %i', (qos) => {
    for (const [index, length] of PAYLOADS.entries()) {
      const payload = Buffer.alloc(length, 'x');
      const flags = { retain: index % 2 === 0, dup: index % 3 === 0 };
      const sent = { topic: TOPIC, payload, qos, ...flags, messageId: 65_000 + index };
      const bytes = encodePublish({ ...sent, protocol });
      const received: Packet[] = [];
      const packets = parser({ protocolVersion: protocol });
      packets.on('packet', (packet) => received.push(packet));
      expect(packets.parse(bytes)).toBe(0);
      const [packet] = received;
      if (packet?.cmd !== 'publish') throw new Error(`no PUBLISH of ${length} bytes came`);
      expect(payload.equals(Buffer.from(packet.payload))).toBe(true);
      expect(packet).toMatchObject({ topic: TOPIC, qos, ...flags });
      expect(packet.messageId).toBe(qos === 0 ? undefined : sent.messageId);
      if (protocol === 5) expect(packetBytes(TOPIC, payload, qos)).toBe(bytes.length);
    }
  });
});
