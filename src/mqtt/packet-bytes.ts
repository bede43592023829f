import { isUtf8 } from 'node:buffer';
import { PacketError } from './packet-error.js';

const LENGTH_BITS = 7;
const LENGTH_CONTINUES = 0x80;
const MAX_LENGTH_DIGITS = 4;
/**
 * Reads the fields of one packet in their order (MQTT 5, 1.5).
 *
 * Each method throws a `PacketError` where the packet ends before the field does.
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
      if (digit < LENGTH_CONTINUES) return length;
    }
    throw new PacketError('a length of too many bytes');
  }

  /** @param field its name, for the error when it is no text (MQTT 5, 1.5.4) */
  text(field: string): string {
    const bytes = this.binary();
    const text = bytes.toString();
    // U+FFFD stands in place of what is ill-formed, unless the client meant it.
    const isIllFormed = text.includes('\u0000') || (text.includes('\ufffd') && !isUtf8(bytes));
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

  /** The next so many bytes as a packet of their own. */
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

function wrongLength(): PacketError {
  return new PacketError('a packet of the wrong length');
}
