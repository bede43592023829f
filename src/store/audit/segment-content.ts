import { setImmediate } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import type { AuditPosition } from '../../site/audit-trail.js';
import { type AuditMember, compareInTrail, positionOf } from './segment.js';

const NEW_LINE = 10;
const CHECKSUM_DIGITS = 8;
/** Records written or parsed before the event loop is yielded: a millisecond or two. */
const RECORDS_AT_A_TIME = 100;

/** A segment whose text does not match its checksum, or cannot be decompressed. */
export class DamagedSegment extends Error {}

/**
 * The text of a segment: a line per record, then a checksum.
 *
 * A line holds the record's time and the record, whose JSON has no line breaks. The last line is the
 * CRC-32 of those before it.
 */
export async function segmentText(members: readonly AuditMember[]): Promise<Buffer> {
  const parts: Buffer[] = [];
  let checksum = 0;
  for (let at = 0; at < members.length; at += RECORDS_AT_A_TIME) {
    const some = members.slice(at, at + RECORDS_AT_A_TIME);
    const part = Buffer.from(some.map(({ atMs, member }) => `${atMs} ${member}\n`).join(''));
    checksum = crc32(part, checksum);
    parts.push(part);
    await setImmediate();
  }
  return Buffer.concat([...parts, Buffer.from(checksumLine(checksum))]);
}

function checksumLine(checksum: number): string {
  return `${checksum.toString(16).padStart(CHECKSUM_DIGITS, '0')}\n`;
}

/**
 * The records of a segment, as bytes until they are asked for.
 *
 * Parsing millions of characters at once would block the event loop.
 */
export class SegmentContent {
  readonly #text: Buffer;
  /** Where each record begins, and where the last one ends. */
  readonly #starts: readonly number[];

  /** @throws DamagedSegment */
  constructor(text: Buffer) {
    const end = text.length - CHECKSUM_DIGITS - 1;
    const records = text.subarray(0, Math.max(0, end));
    if (text.toString('latin1', Math.max(0, end)) !== checksumLine(crc32(records))) {
      throw new DamagedSegment('the checksum does not match');
    }
    const starts = [0];
    for (let at = records.indexOf(NEW_LINE); at >= 0; at = records.indexOf(NEW_LINE, at + 1)) {
      starts.push(at + 1);
    }
    this.#text = records;
    this.#starts = starts;
  }

  get length(): number {
    return this.#starts.length - 1;
  }

  /** @param index from 0, below `length` */
  at(index: number): AuditMember {
    const line = this.#text.toString(
      'utf8',
      this.#starts[index],
      (this.#starts[index + 1] ?? 1) - 1,
    );
    const space = line.indexOf(' ');
    return { atMs: Number(line.slice(0, space)), member: line.slice(space + 1) };
  }

  async all(): Promise<AuditMember[]> {
    const members: AuditMember[] = [];
    for (let index = 0; index < this.length; index++) {
      members.push(this.at(index));
      if (members.length % RECORDS_AT_A_TIME === 0) await setImmediate();
    }
    return members;
  }

  /** Counts the records before the position, in the order of the trail. */
  countBefore(position: AuditPosition): number {
    let [low, high] = [0, this.length];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (compareInTrail(positionOf(this.at(middle)), position) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  has(position: AuditPosition): boolean {
    const index = this.countBefore(position);
    return index < this.length && compareInTrail(positionOf(this.at(index)), position) === 0;
  }
}
