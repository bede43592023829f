import { once } from 'node:events';
import { Duplex } from 'node:stream';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { PacketWriter } from '../../../src/broker/wire/packet-writer.js';
import { encodePublish } from '../../../src/mqtt/encode.js';

const SECOND_MS = 1_000;
/** A slow link. */
const BYTES_PER_SECOND = 10_000;
const MESSAGE = {
  topic: 'care-homes/a/devices/b/value',
  payload: Buffer.alloc(1_000, 'x'),
  ...({ qos: 0, dup: false, retain: false, messageId: 0 } as const),
};

let sent: Buffer[];
let writer: PacketWriter;
const TERMS = {
  version: 4,
  receiveMaximum: 65_535,
  maxPacketBytes: 268_435_460,
  topicAliasMaximum: 0,
  wantsReasons: true,
} as const;
let isFrozen: boolean;
let wakes: number;
let unread: number;
let conn: Duplex;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  [sent, isFrozen, wakes, unread] = [[], false, 0, 0];
  conn = new Duplex({
    read: () => undefined,
    // Like the system, it reports a write only once it has taken all of it.
    writev: (chunks, done) => {
      const bytes = Buffer.concat(chunks.map(({ chunk }) => chunk));
      sent.push(bytes);
      if (!isFrozen) setTimeout(done, (bytes.length / BYTES_PER_SECOND) * SECOND_MS);
    },
  });
  writer = new PacketWriter({ stream: conn, isClosed: false }, TERMS, {
    onWritable: () => wakes++,
    onUnread: () => unread++,
    end: () => conn.destroy(),
  });
});

afterEach(() => {
  conn.destroy();
  vi.useRealTimers();
});

/** Lets time pass while messages come faster than the link takes them. */
async function pass(seconds: number): Promise<void> {
  for (let tenths = 0; tenths < seconds * 10; tenths++) {
    while (!conn.destroyed && writer.isWritable) writer.send(MESSAGE);
    await vi.advanceTimersByTimeAsync(SECOND_MS / 10);
  }
}

it('keeps serving a client that reads more slowly than messages arrive', async () => {
  await pass(60);
  expect([conn.destroyed, unread]).toEqual([false, 0]);
  const bytes = Buffer.concat(sent);
  expect(bytes.length).toBeGreaterThan(50 * BYTES_PER_SECOND);
  const packet = encodePublish(MESSAGE);
  expect(bytes.subarray(0, packet.length)).toEqual(packet);
});

it('requests more messages once half of the waiting ones have been read', async () => {
  while (writer.isWritable) writer.send(MESSAGE);
  const waitingBytes = 256 * 1024;
  await vi.advanceTimersByTimeAsync((waitingBytes / 2 / BYTES_PER_SECOND) * SECOND_MS - 5_000);
  expect([writer.isWritable, wakes]).toEqual([true, 0]);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(wakes).toBe(1);
});

it('sends a packet longer than a piece complete', async () => {
  const packet = encodePublish({ ...MESSAGE, payload: Buffer.alloc(100_000, 'y') });
  writer.write(packet);
  writer.send(MESSAGE);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(Buffer.concat(sent)).toEqual(Buffer.concat([packet, encodePublish(MESSAGE)]));
});

it('names a client that reads nothing, and disconnects it after five seconds', async () => {
  isFrozen = true;
  await pass(2.9);
  expect([conn.destroyed, unread]).toEqual([false, 0]);
  await pass(0.2);
  expect([conn.destroyed, unread]).toEqual([false, 1]);
  const closed = once(conn, 'close');
  await pass(2);
  await closed;
});

it('keeps a client that acknowledges, though the system reports nothing read', async () => {
  isFrozen = true;
  for (let seconds = 0; seconds < 20; seconds++) {
    await pass(1);
    writer.noteRead();
  }
  expect([conn.destroyed, unread]).toEqual([false, 0]);
});
