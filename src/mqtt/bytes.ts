/** The data representation of MQTT (MQTT 5, 1.5): fields read from and written to packets, and where a packet ends. */
import { isUtf8 } from 'node:buffer';
import { PACKET_TOO_LARGE, PacketError } from './codes.js';

const LENGTH_BITS = 7;
const LENGTH_CONTINUES = 0x80;
const MAX_LENGTH_DIGITS = 4;
const MAX_TEXT_BYTES = 65_535;

/**
 * Reads the fields of one packet in order (MQTT 5, 1.5).
 *
 * Each method throws a `PacketError` if the packet ends before the field does.
 */
export class Reader {
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
  varint(): number {
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
  part(length: number): Reader {
    const start = this.#take(length);
    return new Reader(this.#bytes, start, start + length);
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

function overlong(): PacketError {
  return new PacketError('a length of more bytes than it takes');
}

function wrongLength(): PacketError {
  return new PacketError('a packet of the wrong length');
}

/** Writes fields in order; `bytes` has them all. */
export class Writer {
  readonly #parts: Buffer[] = [];

  get bytes(): Buffer {
    return Buffer.concat(this.#parts);
  }

  byte(value: number): this {
    return this.raw(Buffer.from([value]));
  }

  uint16(value: number): this {
    const bytes = Buffer.allocUnsafe(2);
    bytes.writeUInt16BE(value);
    return this.raw(bytes);
  }

  uint32(value: number): this {
    const bytes = Buffer.allocUnsafe(4);
    bytes.writeUInt32BE(value);
    return this.raw(bytes);
  }

  varint(value: number): this {
    const bytes = Buffer.allocUnsafe(varintBytes(value));
    writeVarint(bytes, 0, value);
    return this.raw(bytes);
  }

  text(value: string): this {
    return this.binary(Buffer.from(value));
  }

  /** Cut to the length that a field may have. */
  binary(value: Buffer): this {
    const bytes = value.subarray(0, MAX_TEXT_BYTES);
    return this.uint16(bytes.length).raw(bytes);
  }

  raw(bytes: Buffer): this {
    this.#parts.push(bytes);
    return this;
  }
}

/** How many bytes a variable byte integer takes. */
export function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value >> LENGTH_BITS; rest > 0; rest >>= LENGTH_BITS) bytes++;
  return bytes;
}

/** Writes a variable byte integer. Returns where the bytes continue. */
export function writeVarint(bytes: Buffer, start: number, value: number): number {
  let at = start;
  let rest = value;
  do {
    const digit = rest & (LENGTH_CONTINUES - 1);
    rest >>= LENGTH_BITS;
    bytes[at++] = rest > 0 ? digit | LENGTH_CONTINUES : digit;
  } while (rest > 0);
  return at;
}

/** The fields of a whole packet, behind its type and length. */
export function fieldsOf(packet: Buffer): Reader {
  return new Reader(packet, endOfLength(packet));
}

/** Checks that MQTT 5 writes the length of a packet in as few bytes as it takes [MQTT-1.5.5-1]. */
export function checkLength(packet: Buffer): void {
  const end = endOfLength(packet);
  if (end > 2 && packet[end - 1] === 0) throw overlong();
}

function endOfLength(packet: Buffer): number {
  let at = 1;
  while ((packet[at] ?? 0) >= LENGTH_CONTINUES) at++;
  return at + 1;
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
