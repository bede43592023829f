import { PassThrough } from 'node:stream';
import { generate } from 'mqtt-packet';
import { expect, it } from 'vitest';
import {
  PacketReader,
  type ReadConnection,
  ReadTurns,
} from '../../../src/broker/wire/packet-reader.js';

const MAX_TURN_BYTES = 1_024;

function publish(payloadBytes: number): Buffer {
  const payload = 'x'.repeat(payloadBytes);
  return generate({
    cmd: 'publish',
    qos: 0,
    dup: false,
    retain: false,
    topic: 't',
    payload,
  });
}

/** A connection for which a test decides when it may be read. */
class Connection implements ReadConnection {
  readonly stream = new PassThrough({ highWaterMark: 100_000 });
  readonly onlyAcknowledges = false;
  readonly isClosed = false;
  readonly place = { location: 'home', principal: 'device' };
  readonly packets: Buffer[] = [];
  readonly turnBytes: number[] = [];
  maxTurns = Number.POSITIVE_INFINITY;
  isConnecting = false;

  get mayRead(): boolean {
    return this.turnBytes.length < this.maxTurns && !this.isConnecting;
  }

  onPacket(packet: Buffer): boolean {
    this.packets.push(packet);
    return true;
  }

  onRead(_messages: number, bytes: number): void {
    this.turnBytes.push(bytes);
  }

  fail(error: unknown): void {
    throw error;
  }

  close(): void {
    this.stream.destroy();
  }
}

it('reads a bounded piece per turn, nothing while held back, and every packet in the end', async () => {
  const connection = new Connection();
  connection.maxTurns = 3;
  const reader = new PacketReader(connection, new ReadTurns({ lag: 0 }), 262_144);
  const sent = [...Array<Buffer>(500).fill(publish(10)), publish(50_000)];
  connection.stream.write(Buffer.concat(sent));
  await expect.poll(() => connection.turnBytes.length).toBe(connection.maxTurns);
  reader.resume();
  await new Promise((resolve) => setImmediate(resolve));
  // Other connections of its principal may use up its budget between its request and its turn.
  expect(reader.takeTurn(0)).toBe(0);
  expect(connection.turnBytes).toHaveLength(connection.maxTurns);
  connection.maxTurns = Number.POSITIVE_INFINITY;
  reader.resume();
  await expect.poll(() => connection.packets.length).toBe(sent.length);
  expect(Buffer.concat(connection.packets)).toEqual(Buffer.concat(sent));
  expect(Math.max(...connection.turnBytes)).toBeLessThanOrEqual(MAX_TURN_BYTES);
});

it('reads what followed a CONNECT once that is answered, even if the client has closed meanwhile', async () => {
  const connection = new Connection();
  const { stream, packets } = connection;
  const take = connection.onPacket.bind(connection);
  connection.onPacket = (packet) => {
    connection.isConnecting = packets.length === 0;
    return take(packet);
  };
  let hasEnded = false;
  stream.once('end', () => {
    hasEnded = true;
  });
  const reader = new PacketReader(connection, new ReadTurns({ lag: 0 }), 262_144);
  stream.end(Buffer.concat([publish(1), publish(2), publish(3)]));
  await expect.poll(() => packets.length).toBe(1);
  await new Promise((resolve) => setImmediate(resolve));
  expect(hasEnded).toBe(false);
  connection.isConnecting = false;
  reader.resume();
  await expect.poll(() => packets.length).toBe(3);
  await expect.poll(() => hasEnded).toBe(true);
});
