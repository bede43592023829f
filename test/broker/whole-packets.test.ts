import fc from 'fast-check';
import { generate, type IPublishPacket, type Packet, parser } from 'mqtt-packet';
import { describe, expect, it } from 'vitest';
import { wholePacket } from '../../src/broker/wire/packet-writer.js';

const MAX_BYTES = 4_096;

const publishes = fc.record({
  cmd: fc.constant('publish' as const),
  qos: fc.constantFrom(0 as const, 1 as const, 2 as const),
  dup: fc.boolean(),
  retain: fc.boolean(),
  topic: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }),
  payload: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  messageId: fc.integer({ min: 1, max: 65_535 }),
});
const acknowledgements = fc.record({
  cmd: fc.constant('puback' as const),
  messageId: fc.integer({ min: 1, max: 65_535 }),
});

/** The first packet that the parser of Aedes finds. */
function parsed(bytes: Buffer): Packet | undefined {
  const packets: Packet[] = [];
  const found = parser({ protocolVersion: 4 });
  found.on('packet', (packet) => packets.push(packet));
  found.on('error', () => undefined);
  found.parse(bytes);
  return packets[0];
}

/** The fields of a packet that its handlers read. */
function read(packet: Packet | undefined) {
  const { cmd, length, messageId } = packet ?? {};
  if (packet?.cmd !== 'publish') return { cmd, length, messageId };
  const { qos, dup, retain, topic, payload }: IPublishPacket = packet;
  const identifier = qos === 0 ? undefined : messageId;
  return { cmd, length, identifier, qos, dup, retain, topic, payload };
}

describe('a whole packet', () => {
  it('is what the parser of Aedes finds, and any beginning of it is incomplete', () => {
    fc.assert(
      fc.property(fc.oneof(publishes, acknowledgements), (packet) => {
        const bytes = generate(packet);
        const before = Buffer.from([0xd0, 0x00]);
        const found = wholePacket(Buffer.concat([before, bytes, before]), before.length, MAX_BYTES);
        if (found === undefined || found === 'incomplete') throw new Error('was not found');
        expect(found.end).toBe(before.length + bytes.length);
        expect(read(found)).toEqual(read(parsed(bytes)));
        for (let length = 1; length < bytes.length; length++) {
          expect(wholePacket(bytes.subarray(0, length), 0, MAX_BYTES)).toBe('incomplete');
        }
      }),
    );
  });

  it('is found in no bytes in which the parser of Aedes finds another, or none', () => {
    const header = fc.constantFrom(0x30, 0x32, 0x34, 0x36, 0x3d, 0x40, 0x42, 0xc0);
    const length = fc.oneof(fc.nat({ max: 12 }), fc.constantFrom(0x80, 0x82, 0xff));
    const rest = fc.uint8Array({ maxLength: 12, max: 4 });
    fc.assert(
      fc.property(header, length, rest, (first, second, others) => {
        const bytes = Buffer.from([first, second, ...others]);
        const found = wholePacket(bytes, 0, MAX_BYTES);
        if (found === undefined || found === 'incomplete') return;
        expect(read(found)).toEqual(read(parsed(bytes)));
      }),
      { numRuns: 5_000 },
    );
  });

  it('is left to the parser of Aedes when it is too long', () => {
    const payload = Buffer.alloc(MAX_BYTES);
    const bytes = generate({
      cmd: 'publish',
      qos: 0,
      dup: false,
      retain: false,
      topic: 'a',
      payload,
    });
    expect(wholePacket(bytes.subarray(0, 3), 0, MAX_BYTES)).toBeUndefined();
  });
});
