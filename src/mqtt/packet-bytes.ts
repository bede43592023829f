import { isUtf8 } from 'node:buffer';
import { PacketError } from './packet-error.js';
import { PACKET_TOO_LARGE } from './reason-codes.js';

const LENGTH_BITS = 7;
const LENGTH_CONTINUES = 0x80;
const MAX_LENGTH_DIGITS = 4;
const NOTHING = Buffer.alloc(0);

/**
 * Reads the fields of one packet in order (MQTT 5, 1.5).
 *
 * Each method throws a `PacketError` if the packet ends before the field does.
 */
export class PacketBytes {
  readonly #bytes: Buffer;
  #at: number;
  readonly #end: number;

  constructor(bytes: Buffer, start: number, end = bytes.length) {
    if (end > bytes.length) throw wrongLength();
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  get left(): number {
    return this.#end - this.#at;
  }

  byte(): number {
    return this.#bytes[this.#take(1)] ?? 0;
  }

  uint16(): number {
    return this.#bytes.readUInt16BE(this.#take(2));
  }

  uint32(): number {
    return this.#bytes.readUInt32BE(this.#take(4));
  }

  /** A variable byte integer (MQTT 5, 1.5.5). */
  length(): number {
    let length = 0;
    for (let digits = 0; digits < MAX_LENGTH_DIGITS; digits++) {
      const digit = this.byte();
      length += (digit & (LENGTH_CONTINUES - 1)) << (LENGTH_BITS * digits);
      if (digit === 0 && digits > 0) throw overlong();
      if (digit < LENGTH_CONTINUES) return length;
    }
    throw new PacketError('a length of too many bytes');
  }

  /** @param field its name, for the error if it is not text (MQTT 5, 1.5.4) */
  text(field: string): string {
    const length = this.uint16();
    const start = this.#take(length);
    const text = this.#bytes.toString('utf8', start, start + length);
    // U+FFFD replaces ill-formed bytes, unless the client meant it.
    const isIllFormed =
      text.includes('\u0000') ||
      (text.includes('\ufffd') && !isUtf8(this.#bytes.subarray(start, start + length)));
    if (isIllFormed) throw new PacketError(`unusable ${field}`);
    return text;
  }

  binary(): Buffer {
    const length = this.uint16();
    const start = this.#take(length);
    return this.#bytes.subarray(start, start + length);
  }

  /** All that is left. */
  rest(): Buffer {
    const start = this.#take(this.left);
    return this.#bytes.subarray(start, this.#end);
  }

  /** The next bytes as a packet of their own. */
  part(length: number): PacketBytes {
    const start = this.#take(length);
    return new PacketBytes(this.#bytes, start, start + length);
  }

  /** Requires that nothing is left. */
  end(): void {
    if (this.left > 0) throw wrongLength();
  }

  /** Returns where the field begins. */
  #take(length: number): number {
    if (length > this.left) throw wrongLength();
    const start = this.#at;
    this.#at += length;
    return start;
  }
}

/** [MQTT-1.5.5-1] */
export function overlong(): PacketError {
  return new PacketError('a length of more bytes than it takes');
}

function wrongLength(): PacketError {
  return new PacketError('a packet of the wrong length');
}

/**
 * The length of a packet with its fixed header; undefined while the header is incomplete.
 *
 * @param maxBytes with the fixed header, as CONNACK announces it (MQTT 5, 3.2.2.3.6)
 * @throws PacketError for a longer packet, and for a malformed length
 */
export function packetBytes(bytes: Buffer, at: number, maxBytes: number): number | undefined {
  let length = 0;
  for (let digits = 0; digits < MAX_LENGTH_DIGITS; digits++) {
    const digit = bytes[at + 1 + digits];
    if (digit === undefined) return undefined;
    length += (digit & (LENGTH_CONTINUES - 1)) << (LENGTH_BITS * digits);
    if (digit >= LENGTH_CONTINUES) continue;
    const packetLength = 2 + digits + length;
    if (packetLength > maxBytes) throw new PacketError('packet too large', PACKET_TOO_LARGE);
    return packetLength;
  }
  throw new PacketError('a length of too many bytes');
}

/** Divides the bytes of a connection into packets. Checks the length of each before it takes memory for it. */
export class Frames {
  readonly #maxPacketBytes: number;
  #bytes: Buffer = NOTHING;
  #at = 0;
  /** The parts of an incomplete packet. */
  #parts: Buffer[] = [];
  #missingBytes = 0;
  #hasMore = false;

  constructor(maxPacketBytes: number) {
    this.#maxPacketBytes = maxPacketBytes;
  }

  /** Whether `next` may find a packet. */
  get hasMore(): boolean {
    return this.#hasMore;
  }

  add(bytes: Buffer): void {
    this.#hasMore = true;
    this.#parts.push(bytes);
    this.#missingBytes -= bytes.length;
    if (this.#missingBytes > 0) return;
    this.#bytes = this.#parts.length === 1 ? bytes : Buffer.concat(this.#parts);
    this.#at = 0;
    this.#parts = [];
    this.#missingBytes = 0;
  }

  /**
   * Takes the next whole packet; undefined until more bytes are added.
   *
   * @throws PacketError for a packet that is too long or has a malformed length
   */
  next(): Buffer | undefined {
    const start = this.#at;
    const length = packetBytes(this.#bytes, start, this.#maxPacketBytes);
    const end = start + (length ?? Number.POSITIVE_INFINITY);
    if (end <= this.#bytes.length) {
      this.#at = end;
      this.#hasMore = end < this.#bytes.length;
      return this.#bytes.subarray(start, end);
    }
    this.#hasMore = false;
    if (start === this.#bytes.length) return undefined;
    const rest = this.#bytes.subarray(start);
    this.#parts = [rest];
    this.#missingBytes = length === undefined ? 1 : length - rest.length;
    this.#bytes = NOTHING;
    this.#at = 0;
    return undefined;
  }
}
