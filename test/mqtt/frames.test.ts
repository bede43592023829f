import fc from 'fast-check';
import { generate } from 'mqtt-packet';
import { describe, expect, it } from 'vitest';
import { Frames } from '../../src/mqtt/packet-bytes.js';
import { PacketError } from '../../src/mqtt/packet-error.js';

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

describe('the bytes of a connection', () => {
  it('are the same packets, however they are split', () => {
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

  it('leave nothing after the last complete packet', () => {
    const ping = generate({ cmd: 'pingreq' });
    const frames = new Frames(MAX_BYTES);
    frames.add(Buffer.concat([ping, ping]));
    expect(frames.next()).toEqual(ping);
    expect(frames.hasMore).toBe(true);
    expect(frames.next()).toEqual(ping);
    expect(frames.hasMore).toBe(false);
  });

  it('are rejected when a packet is too long, or its length field is', () => {
    const publish = { cmd: 'publish', qos: 0, dup: false, retain: false, topic: 'a' } as const;
    const longest = generate({ ...publish, payload: Buffer.alloc(MAX_BYTES - 6) });
    const tooLong = generate({ ...publish, payload: Buffer.alloc(MAX_BYTES - 5) });
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
