/**
 * The network connection of an MQTT client, TCP, TLS or WebSocket: packets out, and bytes in as whole packets.
 *
 * A client is read to its last byte, even after the connection has ended: a device may send everything and hang up
 * without waiting for CONNACK (MQTT 3.1.1, 3.1.4).
 */
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { packetBytes } from '../mqtt/bytes.js';

/** Bytes of whole packets that wait here; the others wait in the system, which slows the client down. */
const HIGH_WATER_BYTES = 16 * 1024;
/** A client may send each byte of a packet alone: each then costs far more memory than its byte. */
const MAX_CHUNKS = 64;

/** Takes packets to a client. */
export interface Transport {
  /**
   * Sends parts of packets, which leave together.
   *
   * @param endsPacket false: there is one part, and the next write has more of the same packet
   * @param whenTaken called once the network has taken them; never if it is gone
   */
  write(parts: readonly Buffer[], endsPacket: boolean, whenTaken: () => void): void;
  /** Stops reading from the system. */
  pause(): void;
  resume(): void;
  destroy(): void;
}

/** The bytes that a client has sent, and that are not handled yet. They outlive the connection. */
export class Incoming {
  readonly #onMore: () => void;
  #transport: Pick<Transport, 'pause' | 'resume'> | undefined;
  #chunks: Buffer[] = [];
  /** How many bytes of the first chunk are taken. */
  #at = 0;
  #bytes = 0;
  /** How many bytes must be there before `next` can find a packet. */
  #neededBytes = 1;
  #isPaused = false;
  #hasEnded = false;
  #heardAtMs = performance.now();

  /** @param onMore called when there may be a packet, and at the end */
  constructor(onMore: () => void) {
    this.#onMore = onMore;
  }

  /** How many bytes wait here. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether `next` may find a packet. */
  get hasMore(): boolean {
    return this.#bytes >= this.#neededBytes;
  }

  /** Whether nothing more comes; packets may still be here. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** The first byte of the next packet, before the others are there. */
  get firstByte(): number | undefined {
    return this.#chunks[0]?.[this.#at];
  }

  /** Milliseconds since the client was last heard; 0 while packets wait. */
  get silentMs(): number {
    return this.hasMore ? 0 : performance.now() - this.#heardAtMs;
  }

  /** @param transport is paused while enough waits here */
  from(transport: Pick<Transport, 'pause' | 'resume'>): void {
    this.#transport = transport;
  }

  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    this.#heardAtMs = performance.now();
    if (this.#chunks.length > MAX_CHUNKS) this.#join();
    if (!this.hasMore) return;
    if (this.#bytes > HIGH_WATER_BYTES) this.#pause();
    this.#onMore();
  }

  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#onMore();
  }

  /**
   * Takes the next whole packet; undefined until more arrives.
   *
   * @param maxPacketBytes with the fixed header
   * @throws PacketError for a longer one, before it is complete, and for a malformed length
   */
  next(maxPacketBytes: number): Buffer | undefined {
    if (!this.hasMore) return undefined;
    let first = this.#chunks[0];
    let length = first && packetBytes(first, this.#at, maxPacketBytes);
    if (length === undefined && this.#chunks.length > 1) {
      first = this.#join();
      length = packetBytes(first, this.#at, maxPacketBytes);
    }
    this.#neededBytes = length ?? this.#bytes + 1;
    if (first === undefined || length === undefined || length > this.#bytes) {
      // The packet needs more, whatever waits here.
      this.#resume();
      return undefined;
    }
    if (this.#at + length > first.length) first = this.#join();
    const packet = first.subarray(this.#at, this.#at + length);
    this.#at += length;
    this.#bytes -= length;
    this.#neededBytes = 1;
    if (this.#at === first.length) {
      this.#chunks.shift();
      this.#at = 0;
    }
    if (this.#bytes <= HIGH_WATER_BYTES / 2) this.#resume();
    return packet;
  }

  #join(): Buffer {
    const [first, ...others] = this.#chunks;
    const rest = first?.subarray(this.#at);
    const joined = Buffer.concat(rest === undefined ? others : [rest, ...others]);
    this.#chunks = [joined];
    this.#at = 0;
    return joined;
  }

  #pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#transport?.pause();
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#transport?.resume();
  }
}

/** Serves a client over TCP or TLS. */
export function overSocket(socket: Socket, incoming: Incoming): Transport {
  socket.allowHalfOpen = true;
  dropFailedWrites(socket);
  let isPaused = false;
  // Not `data`: a stream that is destroyed while paused would discard what it holds.
  const read = () => {
    while (!isPaused) {
      const bytes: unknown = socket.read();
      if (!(bytes instanceof Buffer)) break;
      incoming.add(bytes);
    }
    if (socket.destroyed) incoming.end();
  };
  socket.on('readable', read).on('end', () => incoming.end());
  socket.on('error', read).on('close', read);
  const transport: Transport = {
    write: (parts, _endsPacket, whenTaken) => {
      if (!socket.writable) return;
      const [first, ...others] = parts;
      // One write for all: a write costs several times as much as copying a packet.
      const isOne = first !== undefined && others.length === 0;
      socket.write(isOne ? first : Buffer.concat(parts), whenTaken);
    },
    pause: () => {
      isPaused = true;
    },
    resume: () => {
      isPaused = false;
      read();
    },
    destroy: () => void socket.destroy(),
  };
  incoming.from(transport);
  return transport;
}

/** Frames that bring no byte of a packet, between two that do: mqtt.js sends one for each empty field. */
const MAX_EMPTY_FRAMES = 1_000;
/** The prefix of the `ws` error codes for frames that break the protocol or a limit. */
const FRAME_ERROR = 'WS_ERR_';
/** Time for the close frame to reach a client that broke the protocol, before the connection is cut. */
const CLOSE_FRAME_MS = 250;

/**
 * Serves a client over WebSocket.
 *
 * Each packet is a message. A message may hold several packets [MQTT-6.0.0-2], and clients must not care. Some do: Paho
 * for C shows the second one only when something else comes, and web clients take the second for garbage.
 *
 * @param socket under the WebSocket: what is written at a time leaves together
 * @param onBadFrames called when its frames are not those of MQTT, or bring nothing
 */
export function overWebSocket(
  webSocket: WebSocket,
  socket: Socket,
  incoming: Incoming,
  onBadFrames: () => void,
): Transport {
  dropFailedWrites(socket);
  let emptyFrames = 0;
  const takeEmptyFrame = () => {
    emptyFrames++;
    if (emptyFrames === MAX_EMPTY_FRAMES) onBadFrames();
  };
  webSocket.on('ping', takeEmptyFrame).on('pong', takeEmptyFrame);
  webSocket.on('message', (data, isBinary) => {
    // [MQTT-6.0.0-1]
    if (!isBinary || !Buffer.isBuffer(data)) onBadFrames();
    else if (data.length === 0) takeEmptyFrame();
    else {
      emptyFrames = 0;
      incoming.add(data);
    }
  });
  webSocket.on('error', (error) => {
    if (!('code' in error && String(error.code).startsWith(FRAME_ERROR))) return;
    // `ws` would keep reading, and discard what arrives, while a closing handshake may last.
    setImmediate(() => socket.pause());
    setTimeout(onBadFrames, CLOSE_FRAME_MS);
  });
  webSocket.on('close', () => incoming.end());
  const transport: Transport = {
    write: (parts, endsPacket, whenTaken) => {
      if (webSocket.readyState !== webSocket.OPEN) return;
      socket.cork();
      parts.forEach((part, index) => {
        const isLast = index === parts.length - 1;
        webSocket.send(part, { binary: true, fin: endsPacket }, isLast ? whenTaken : undefined);
      });
      socket.uncork();
    },
    pause: () => webSocket.pause(),
    resume: () => webSocket.resume(),
    destroy: () => webSocket.terminate(),
  };
  incoming.from(transport);
  return transport;
}

/** Keeps a failed write from destroying the socket, which would discard what can still be read. */
function dropFailedWrites(socket: Socket): void {
  const write = socket._write.bind(socket);
  socket._write = (chunk, encoding, callback) => write(chunk, encoding, () => callback());
  const writev = socket._writev?.bind(socket);
  if (writev !== undefined) socket._writev = (chunks, callback) => writev(chunks, () => callback());
}
