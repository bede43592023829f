import { execFile } from 'node:child_process';
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { MANIFEST, SINGLE_FILE } from './append-only-files.js';

const CHECKERS = ['redis-check-aof', 'valkey-check-aof'];
const REPORT = /AOF analyzed: (?:filename=(.+), )?size=(\d+), ok_up_to=(\d+),.* diff=(\d+)/g;
/** A longer tail with a whole transaction in it is no torn end, and is not cut. */
const MAX_DOUBTFUL_BYTES = 1024 * 1024;
/** The end of a transaction in the file, which may have been acknowledged. */
const EXEC = Buffer.from('*1\r\n$4\r\nEXEC\r\n');

/** The part that was cut off an append-only file. */
export interface CutTail {
  readonly file: string;
  readonly bytes: number;
  /** Undefined when the disk did not take the copy. */
  readonly keptIn: string | undefined;
}

interface Tail {
  readonly file: string;
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
  const tail = await damagedTail(directory, searchPath);
  if (tail === undefined || !(await isTornEnd(tail))) return undefined;
  const { file, from, bytes } = tail;
  const keptIn = await keep(tail, join(directory, `damaged-tail-${Date.now()}.aof`));
  const handle = await open(file, 'r+');
  try {
    await handle.truncate(from);
    await handle.sync();
  } finally {
    await handle.close();
  }
  return { file, bytes, keptIn };
}

/** The end of the last file that the server's own checker cannot read. */
async function damagedTail(
  directory: string,
  searchPath: string | undefined,
): Promise<Tail | undefined> {
  const files = [MANIFEST, SINGLE_FILE].map((name) => join(directory, name));
  const checked = files.find((file) => existsSync(file));
  if (checked === undefined) return undefined;
  const report = await check(checked, searchPath);
  const [, name, size, validBytes, damaged] = [...report.matchAll(REPORT)].at(-1) ?? [];
  const [from, bytes] = [Number(validBytes), Number(damaged ?? 0)];
  if (bytes === 0 || from + bytes !== Number(size)) return undefined;
  return { file: join(dirname(checked), basename(name ?? checked)), from, bytes };
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

/** Whether the tail is a torn end: short, or long without a whole transaction in it. */
async function isTornEnd({ file, from, bytes }: Tail): Promise<boolean> {
  if (bytes <= MAX_DOUBTFUL_BYTES) return true;
  let before = Buffer.alloc(0);
  for await (const chunk of createReadStream(file, { start: from })) {
    const seen = Buffer.concat([before, chunk]);
    if (seen.includes(EXEC)) return false;
    before = seen.subarray(-EXEC.length);
  }
  return true;
}

/** Copies the tail; a full disk, perhaps the cause of it all, must not prevent the repair. */
async function keep({ file, from }: Tail, to: string): Promise<string | undefined> {
  try {
    const copy = createWriteStream(to, { mode: 0o600, flush: true });
    await pipeline(createReadStream(file, { start: from }), copy);
    return to;
  } catch {
    // Half a copy would only take room that the store needs. The caller logs `keptIn` as missing.
    await rm(to, { force: true });
    return undefined;
  }
}
