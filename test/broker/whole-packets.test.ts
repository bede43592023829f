import fc from 'fast-check';
import { generate, type IPublishPacket, type Packet, parser } from 'mqtt-packet';
import { describe, expect, it } from 'vitest';
import { Frames, fastPacket, PacketDecoder, PacketError } from '../../src/broker/wire/decoding.js';

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

/** The first packet that mqtt-packet finds. */
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

describe('the bytes of a connection', () => {
  it('are the same packets, however they are divided', () => {
    const chunk = fc.integer({ min: 1, max: 700 });
    fc.assert(
      fc.property(fc.array(publishes, { maxLength: 8 }), fc.array(chunk), (packets, chunks) => {
        const sent = packets.map((packet) => generate(packet));
        const all = Buffer.concat(sent);
        const frames = new Frames(MAX_BYTES);
        const found: Buffer[] = [];
        for (let at = 0; at < all.length; ) {
          const bytes = chunks.shift() ?? 1;
          frames.add(all.subarray(at, at + bytes));
          at += bytes;
          for (let one = frames.next(); one !== undefined; one = frames.next()) found.push(one);
          expect(frames.hasMore).toBe(false);
        }
        expect(found).toEqual(sent);
      }),
    );
  });

  it('are all handled behind the last whole packet', () => {
    const ping = generate({ cmd: 'pingreq' });
    const frames = new Frames(MAX_BYTES);
    frames.add(Buffer.concat([ping, ping]));
    expect(frames.next()).toEqual(ping);
    expect(frames.hasMore).toBe(true);
    expect(frames.next()).toEqual(ping);
    expect(frames.hasMore).toBe(false);
  });

  it('are no packet when it is too long, or its length is', () => {
    const publish = { cmd: 'publish', qos: 0, dup: false, retain: false, topic: 'a' } as const;
    const longest = generate({ ...publish, payload: Buffer.alloc(MAX_BYTES - 3) });
    const tooLong = generate({ ...publish, payload: Buffer.alloc(MAX_BYTES - 2) });
    const frames = new Frames(MAX_BYTES);
    frames.add(longest);
    expect(frames.next()).toEqual(longest);
    frames.add(tooLong.subarray(0, 3));
    expect(() => frames.next()).toThrow(PacketError);
    const endless = new Frames(MAX_BYTES);
    endless.add(Buffer.from([0x30, 0x80, 0x80, 0x80, 0x80]));
    expect(() => endless.next()).toThrow(PacketError);
  });
});

describe('a whole packet', () => {
  it('is what mqtt-packet finds', () => {
    fc.assert(
      fc.property(fc.oneof(publishes, acknowledgements), (packet) => {
        const bytes = generate(packet);
        const found = fastPacket(bytes);
        expect(read(found)).toEqual(read(parsed(bytes)));
      }),
    );
  });

  it('is found in no bytes in which mqtt-packet finds another, or none', () => {
    const header = fc.constantFrom(0x30, 0x32, 0x34, 0x36, 0x3d, 0x40, 0x42, 0xc0);
    const rest = fc.uint8Array({ maxLength: 12, max: 4 });
    fc.assert(
      fc.property(header, rest, (first, others) => {
        const bytes = Buffer.from([first, others.length, ...others]);
        const found = fastPacket(bytes);
        if (found !== undefined) expect(read(found)).toEqual(read(parsed(bytes)));
      }),
      { numRuns: 5_000 },
    );
  });
});

it('no packet of a client changes how the next one of another is read', () => {
  const ping = generate({ cmd: 'pingreq' });
  const decoder = new PacketDecoder();
  fc.assert(
    fc.property(fc.nat({ max: 255 }), fc.uint8Array({ maxLength: 40 }), (first, rest) => {
      try {
        decoder.decode(Buffer.from([first, rest.length, ...rest]));
      } catch (error) {
        expect(error).toBeInstanceOf(PacketError);
      }
      expect(decoder.decode(ping)).toMatchObject({ cmd: 'pingreq' });
    }),
    { numRuns: 20_000 },
  );
});
