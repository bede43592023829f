import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, brotliDecompress, constants as zlib } from 'node:zlib';
import { systemErrorCode } from '../../errors.js';
import { syncDirectory } from '../durable-file.js';
import type { AuditMember } from './segment.js';
import { DamagedSegment, SegmentContent, segmentText } from './segment-content.js';

/** Access for the gateway's own user only. */
const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;
/** The suffix of a file until it is whole. */
export const DRAFT_SUFFIX = '.draft';
/**
 * Brotli's quality. Records of one action are much alike: Brotli sees that over the whole segment, gzip
 * only over 32 KiB, three page reads of a hundred recordings. A higher quality takes longer and gains
 * nothing.
 */
const QUALITY = 5;
const WINDOW_BITS = 22;
/** Large, because each decompressed piece is a round trip between threads: else 250 a segment. */
const CHUNK_BYTES = 1024 * 1024;

/** Runs off the event loop, as everything in `node:zlib` that takes a callback. */
const compress = promisify(brotliCompress);
const decompress = promisify(brotliDecompress);

/** Makes a directory that survives a power cut. */
export async function makeDirectory(directory: string): Promise<void> {
  const first = await mkdir(directory, { recursive: true, mode: DIRECTORY_MODE });
  if (first !== undefined) await syncDirectory(dirname(first));
}

/** The names in a directory; none when it does not exist. */
export async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

/** Writes a segment: the file is whole on the disk, or as before. */
export async function writeSegment(path: string, members: readonly AuditMember[]): Promise<void> {
  const text = await segmentText(members);
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_LGWIN, BROTLI_PARAM_SIZE_HINT } = zlib;
  const bytes = await compress(text, {
    params: {
      [BROTLI_PARAM_QUALITY]: QUALITY,
      [BROTLI_PARAM_LGWIN]: WINDOW_BITS,
      [BROTLI_PARAM_SIZE_HINT]: text.length,
    },
  });
  const draft = path + DRAFT_SUFFIX;
  try {
    await writeDraft(draft, bytes);
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
  await syncDirectory(dirname(path));
}

/** @throws DamagedSegment, or the operating system's error */
export async function readSegment(path: string): Promise<SegmentContent> {
  const bytes = await readFile(path);
  const text = await decompress(bytes, { chunkSize: CHUNK_BYTES }).catch((cause: unknown) => {
    throw new DamagedSegment('it cannot be decompressed', { cause });
  });
  return new SegmentContent(text);
}

async function writeDraft(draft: string, bytes: Buffer): Promise<void> {
  const handle = await open(draft, 'w', FILE_MODE);
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
