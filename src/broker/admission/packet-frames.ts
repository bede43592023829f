import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';

const LENGTH_BITS = 0x7f;
const MORE_FOLLOWS = 0x80;

/**
 * Makes a stream send each packet as one WebSocket message, in fragments where it is written in several parts.
 *
 * A message may hold several packets [MQTT-6.0.0-2], and clients must not care. Some do: Paho for C shows the second one
 * only when something else comes, and web clients take the second for garbage. No other broker sends them so.
 *
 * @param stream writes whole packets, or one packet in parts, to the connection
 * @param below the stream under the connection: what is written at a time leaves together
 */
export function sendPacketByPacket(stream: Duplex, connection: WebSocket, below: Duplex): void {
  let bytesLeft = 0;
  stream._write = (bytes: Buffer, _encoding, callback) => {
    below.cork();
    for (let at = 0; at < bytes.length; ) {
      const packetBytes = bytesLeft > 0 ? bytesLeft : packetLength(bytes, at);
      const end = Math.min(at + packetBytes, bytes.length);
      bytesLeft = at + packetBytes - end;
      const isLast = end === bytes.length;
      const options = { binary: true, fin: bytesLeft === 0 };
      connection.send(bytes.subarray(at, end), options, isLast ? callback : undefined);
      at = end;
    }
    below.uncork();
  };
}

/** The length of the packet that begins there, from its fixed header (MQTT 3.1.1, 2.2.3). */
function packetLength(bytes: Buffer, start: number): number {
  let at = start;
  let remaining = 0;
  let byte: number;
  let shift = 0;
  do {
    at++;
    byte = bytes[at] ?? 0;
    remaining += (byte & LENGTH_BITS) << shift;
    shift += 7;
  } while ((byte & MORE_FOLLOWS) !== 0);
  return at + 1 - start + remaining;
}
