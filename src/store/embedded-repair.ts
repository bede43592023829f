import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, type FileHandle, open, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { MANIFEST, SINGLE_FILE } from './append-only-files.js';

const CHECKERS = ['redis-check-aof', 'valkey-check-aof'];
const REPORT = /AOF analyzed: (?:filename=(.+), )?size=(\d+), ok_up_to=(\d+),.* diff=(\d+)/g;
/** A longer tail with a whole transaction in it is no torn end, and is not cut. */
const MAX_DOUBTFUL_BYTES = 1024 * 1024;
/** The end of a transaction in the file, which may have been acknowledged. */
const EXEC = Buffer.from('*1\r\n$4\r\nEXEC\r\n');
const CHUNK_BYTES = 1024 * 1024;

/** The part that was cut off an append-only file. */
export interface CutTail {
  readonly file: string;
  readonly bytes: number;
  /** Undefined when the disk did not take the copy. */
  readonly keptIn: string | undefined;
}

interface Tail {
  readonly from: number;
  readonly bytes: number;
}

/**
 * Cuts the unreadable end off the append-only file, keeping a copy.
 *
 * The server runs only on a whole file. Every write is synced before it is answered, so a torn end (an
 * incomplete command, a MULTI without its EXEC, zeros or garbage after a power cut) holds nothing that
 * was acknowledged (CONTRACT 4.7). No server may be running.
 *
 * @returns undefined when the file has no such end
 */
export async function cutDamagedTail(
  directory: string,
  searchPath: string | undefined,
): Promise<CutTail | undefined> {
  const checked = await firstThatExists(
    [MANIFEST, SINGLE_FILE].map((name) => join(directory, name)),
  );
  if (checked === undefined) return undefined;
  const report = await check(checked, searchPath);
  const [, name, size, validBytes, damaged] = [...report.matchAll(REPORT)].at(-1) ?? [];
  const tail = { from: Number(validBytes), bytes: Number(damaged ?? 0) };
  if (tail.bytes === 0 || tail.from + tail.bytes !== Number(size)) return undefined;
  const file = name === undefined ? checked : join(dirname(checked), basename(name));
  const handle = await open(file, 'r+');
  try {
    if (!(await isTornEnd(handle, tail))) return undefined;
    const keptIn = await keep(handle, tail, join(directory, `damaged-tail-${Date.now()}.aof`));
    await handle.truncate(tail.from);
    await handle.sync();
    return { file, bytes: tail.bytes, keptIn };
  } finally {
    await handle.close();
  }
}

/** Whether the tail is a torn end: short, or long without a whole transaction in it. */
async function isTornEnd(handle: FileHandle, tail: Tail): Promise<boolean> {
  if (tail.bytes <= MAX_DOUBTFUL_BYTES) return true;
  let before = Buffer.alloc(0);
  for await (const chunk of chunksOf(handle, tail)) {
    const seen = Buffer.concat([before, chunk]);
    if (seen.includes(EXEC)) return false;
    before = seen.subarray(-EXEC.length);
  }
  return true;
}

/** Copies the tail; a full disk, perhaps the cause of it all, must not prevent the repair. */
async function keep(handle: FileHandle, tail: Tail, to: string): Promise<string | undefined> {
  try {
    const copy = await open(to, 'w', 0o600);
    try {
      for await (const chunk of chunksOf(handle, tail)) await copy.writeFile(chunk);
      await copy.sync();
    } finally {
      await copy.close();
    }
    return to;
  } catch {
    // Half a copy would only take room that the store needs. The caller logs `keptIn` as missing.
    await rm(to, { force: true });
    return undefined;
  }
}

async function* chunksOf(handle: FileHandle, { from, bytes }: Tail): AsyncGenerator<Buffer> {
  const end = from + bytes;
  for (let at = from; at < end; at += CHUNK_BYTES) {
    const chunk = Buffer.alloc(Math.min(CHUNK_BYTES, end - at));
    await handle.read(chunk, 0, chunk.length, at);
    yield chunk;
  }
}

async function firstThatExists(files: readonly string[]): Promise<string | undefined> {
  for (const file of files) {
    try {
      await access(file, constants.R_OK | constants.W_OK);
      return file;
    } catch {
      // Try the next one.
    }
  }
  return undefined;
}

/** Returns the checker's report; empty when there is no checker. A damaged file makes it exit with 1. */
async function check(file: string, searchPath: string | undefined): Promise<string> {
  const env = searchPath === undefined ? undefined : { PATH: searchPath };
  for (const program of CHECKERS) {
    const report = await new Promise<string>((resolve) => {
      execFile(program, [file], { env }, (_, stdout) => resolve(stdout));
    });
    if (report !== '') return report;
  }
  return '';
}
