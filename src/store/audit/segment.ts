import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { formerLines, formerRecord } from './former-segment.js';
import { compareInTrail, type StoredRecord } from './records.js';

/** A file of the archive. Its name tells its bounds, so that no other file is read for a page. */
export interface AuditSegment {
  /** The path below the archive's directory. */
  readonly name: string;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  readonly lowestSequence: number;
  readonly highestSequence: number;
}

/** Those of earlier versions, in a directory for each action, end with `.br`. */
const NAME = /^(?:[^/]+\/)?(-?\d+)_(-?\d+)_(\d+)_(\d+)\.(?:jsonl\.gz|br)$/;
/** A line: JSON of number, time, and what a record's text holds. */
const BEGIN_OF_LINE = /^\[(\d+),(-?\d+),/;

/** Both run off the event loop. */
const compress = promisify(gzip);
const decompress = promisify(gunzip);

/** The segment of a file's name, undefined for any other file. */
export function segmentNamed(name: string): AuditSegment | undefined {
  const match = NAME.exec(name);
  if (match === null) return undefined;
  const [firstAtMs = 0, lastAtMs = 0, lowestSequence = 0, highestSequence = 0] = match
    .slice(1)
    .map(Number);
  return { name, firstAtMs, lastAtMs, lowestSequence, highestSequence };
}

/**
 * The name of the segment of these records.
 *
 * @param records at least one
 */
export function segmentName(records: readonly StoredRecord[]): string {
  const times = records.map(({ atMs }) => atMs).sort((one, other) => one - other);
  const numbers = records.map(({ sequence }) => sequence).sort((one, other) => one - other);
  return `${times[0]}_${times.at(-1)}_${numbers[0]}_${numbers.at(-1)}.jsonl.gz`;
}

/** The content of a segment's file: a record in a line, in the order of the trail. */
export function segmentContent(records: readonly StoredRecord[]): Promise<Buffer> {
  const lines = records
    .toSorted(compareInTrail)
    .map(({ sequence, atMs, text }) => `[${sequence},${atMs},${text.slice(1)}\n`);
  return compress(lines.join(''));
}

/**
 * Reads the records of a segment's file, in the order of the trail.
 *
 * @throws when it is damaged, which gzip's CRC-32 tells
 */
export async function recordsIn(name: string, content: Buffer): Promise<StoredRecord[]> {
  if (name.endsWith('.br')) return (await formerLines(content)).map(formerRecord);
  const text = (await decompress(content)).toString();
  return text.split('\n').slice(0, -1).map(recordOfLine);
}

function recordOfLine(line: string): StoredRecord {
  const [begin = '', sequence, atMs] = BEGIN_OF_LINE.exec(line) ?? [];
  return { sequence: Number(sequence), atMs: Number(atMs), text: `[${line.slice(begin.length)}` };
}
