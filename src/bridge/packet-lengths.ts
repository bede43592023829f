/** Bits of the remaining length in each of its bytes; the highest bit says that another follows. */
const BITS_PER_BYTE = 7;
const VALUE_MASK = 0x7f;
const MORE_MASK = 0x80;
const MAX_LENGTH_BYTES = 4;

/**
 * Follows the packets in a stream of bytes by the remaining length that each announces (MQTT 2.2.3).
 *
 * mqtt.js gathers a packet of any length before it hands it on.
 */
export class PacketLengths {
  /** Bytes of the present packet that are still to come. */
  #left = 0;
  /** Bytes of the remaining length read so far; undefined before the packet's first byte. */
  #lengthBytes: number | undefined;
  #length = 0;

  /** Reads on. Returns the longest length announced; infinite for one that MQTT does not allow. */
  read(bytes: Buffer): number {
    let longest = 0;
    for (let at = 0; at < bytes.length; ) {
      if (this.#left > 0) {
        const passed = Math.min(this.#left, bytes.length - at);
        this.#left -= passed;
        at += passed;
      } else {
        longest = Math.max(longest, this.#readHeader(bytes[at] ?? 0));
        at++;
      }
    }
    return longest;
  }

  #readHeader(byte: number): number {
    if (this.#lengthBytes === undefined) {
      this.#lengthBytes = 0;
      this.#length = 0;
      return 0;
    }
    if (this.#lengthBytes === MAX_LENGTH_BYTES) return Number.POSITIVE_INFINITY;
    this.#length += (byte & VALUE_MASK) * 2 ** (BITS_PER_BYTE * this.#lengthBytes);
    this.#lengthBytes++;
    if ((byte & MORE_MASK) !== 0) return this.#length;
    this.#lengthBytes = undefined;
    this.#left = this.#length;
    return this.#length;
  }
}
