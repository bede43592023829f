import { PassThrough } from 'node:stream';
import { Aedes } from 'aedes';
import { generate, type Packet } from 'mqtt-packet';
import { expect, it, onTestFinished } from 'vitest';
import {
  PacketReader,
  type ReadConnection,
  ReadTurns,
} from '../../src/broker/wire/packet-reader.js';

const MAX_TURN_BYTES = 1_024;

function publish(payloadBytes: number): Buffer {
  const payload = 'x'.repeat(payloadBytes);
  return generate({
    ...{ cmd: 'publish', qos: 0, dup: false, retain: false },
    ...{ topic: 't', payload },
  });
}

it('reads a bounded piece in a turn, nothing while it is held back, and every packet in the end', async () => {
  const broker = new Aedes();
  onTestFinished(() => new Promise<void>((resolve) => broker.close(resolve)));
  const stream = new PassThrough({ highWaterMark: 100_000 });
  const packets: Packet[] = [];
  const turnBytes: number[] = [];
  let maxTurns = 3;
  const connection: ReadConnection = {
    client: broker.handle(stream),
    isSubscriber: false,
    place: { location: 'home', principal: 'device' },
    get mayRead() {
      return turnBytes.length < maxTurns;
    },
    onPacket: (packet) => packets.push(packet) > 0,
    onRead: (_messages, bytes) => {
      turnBytes.push(bytes);
      return false;
    },
  };
  const reader = new PacketReader(connection, new ReadTurns({ lag: 0 }), {
    maxPacketBytes: 262_144,
    connectBytes: 0,
  });
  stream.write(Buffer.concat([...Array<Buffer>(500).fill(publish(10)), publish(50_000)]));
  await expect.poll(() => turnBytes.length).toBe(maxTurns);
  reader.resume();
  await new Promise((resolve) => setImmediate(resolve));
  // Its budget may be used up, by others of its principal, between its wish and its turn.
  expect(reader.takeTurn(0)).toBe(0);
  expect(turnBytes).toHaveLength(maxTurns);
  maxTurns = Number.POSITIVE_INFINITY;
  reader.resume();
  await expect.poll(() => packets.length).toBe(501);
  expect(Math.max(...turnBytes)).toBeLessThanOrEqual(MAX_TURN_BYTES);
});
