/** Takes one MQTT packet: its first byte, and the position of its body in the bytes. */
export type TakeFrame = (header: number, bytes: Buffer, start: number, end: number) => void;

const EMPTY = Buffer.alloc(0);

/**
 * Splits a stream of bytes into MQTT packets.
 *
 * A load generator must cost less than its target. It does not parse bodies, so a reader looks only
 * at the parts of a PUBLISH that it counts.
 */
export class Frames {
  #rest: Buffer = EMPTY;

  read(chunk: Buffer, take: TakeFrame): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    for (;;) {
      const start = bodyStart(bytes, at);
      if (start === undefined) break;
      const end = start + remainingLength(bytes, at + 1, start);
      if (end > bytes.length) break;
      take(bytes.readUInt8(at), bytes, start, end);
      at = end;
    }
    this.#rest = bytes.subarray(at);
  }
}

/**
 * The position after the remaining length, which has 1 to 4 bytes [MQTT-2.2.3]; undefined while
 * part of it is missing.
 */
function bodyStart(bytes: Buffer, at: number): number | undefined {
  for (let next = at + 1; next < bytes.length; next++) {
    if (((bytes[next] ?? 0) & 0x80) === 0) return next + 1;
  }
  return undefined;
}

function remainingLength(bytes: Buffer, from: number, to: number): number {
  let length = 0;
  for (let at = to - 1; at >= from; at--) length = length * 128 + ((bytes[at] ?? 0) & 0x7f);
  return length;
}
