/** Reads segments that layout 4 and earlier wrote: they stay as they are until they are too old. */

import { promisify } from 'node:util';
import { brotliDecompress, crc32 } from 'node:zlib';
import type { StoredRecord } from './records.js';

const CHECKSUM_DIGITS = 8;
/** Of a record's number in front of it. */
const NUMBER_DIGITS = 12;
/** Large, because each decompressed piece is a round trip between threads: else 250 a segment. */
const CHUNK_BYTES = 1024 * 1024;

const decompress = promisify(brotliDecompress);

/**
 * The lines of a segment: in each the time and the member of the former index.
 *
 * @throws when the content does not match its last line, the CRC-32 of the lines before
 */
export async function formerLines(content: Buffer): Promise<string[]> {
  const text = await decompress(content, { chunkSize: CHUNK_BYTES });
  const end = Math.max(0, text.length - CHECKSUM_DIGITS - 1);
  const lines = text.subarray(0, end);
  const checksum = crc32(lines).toString(16).padStart(CHECKSUM_DIGITS, '0');
  if (text.toString('latin1', end) !== `${checksum}\n`) {
    throw new Error('the checksum does not match');
  }
  return lines.toString().split('\n').slice(0, -1);
}

export function formerRecord(line: string): StoredRecord {
  const [time = ''] = line.split(' ', 1);
  return formerMember(time, line.slice(time.length + 1));
}

/** @param member of the sorted set of an action, which also held records of that layout */
export function formerMember(time: string, member: string): StoredRecord {
  const sequence = Number(member.slice(0, NUMBER_DIGITS));
  return { sequence, atMs: Number(time), text: member.slice(NUMBER_DIGITS) };
}
