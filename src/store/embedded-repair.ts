import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, open, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

const CHECKERS = ['redis-check-aof', 'valkey-check-aof'];
/** Relative to the store's directory: of Redis 7 and later, and of Redis 6. */
const APPEND_ONLY_FILES = ['appendonlydir/appendonly.aof.manifest', 'appendonly.aof'];
const REPORT = /AOF analyzed: (?:filename=(.+), )?size=(\d+), ok_up_to=(\d+),.* diff=(\d+)/g;
/** More than this is no torn end of a file, and is not cut without being asked. */
const MAX_TAIL_BYTES = 1024 * 1024;

/** What was cut off an append-only file. */
export interface CutTail {
  readonly file: string;
  readonly bytes: number;
  readonly keptIn: string;
}

/**
 * Cuts what is unreadable off the end of the append-only file, keeping it beside; undefined when
 * that is not what is wrong. The server by itself gets over an end that is missing, not over one
 * that is garbage, which a power cut leaves as well. Every write is synced before it is answered,
 * so nothing that was acknowledged is in such an end (CONTRACT 4.7). No server may be running.
 */
export async function cutDamagedTail(
  directory: string,
  searchPath: string | undefined,
): Promise<CutTail | undefined> {
  const checked = await firstThatExists(APPEND_ONLY_FILES.map((name) => join(directory, name)));
  if (checked === undefined) return undefined;
  const report = await check(checked, searchPath);
  const [, name, size, validBytes, damaged] = [...report.matchAll(REPORT)].at(-1) ?? [];
  const bytes = Number(damaged ?? 0);
  if (bytes === 0 || bytes > MAX_TAIL_BYTES) return undefined;
  if (Number(validBytes) + bytes !== Number(size)) return undefined;
  const file = name === undefined ? checked : join(dirname(checked), basename(name));
  const keptIn = join(directory, `damaged-tail-${Date.now()}.aof`);
  await moveTail(file, Number(validBytes), bytes, keptIn);
  return { file, bytes, keptIn };
}

async function moveTail(file: string, from: number, bytes: number, to: string): Promise<void> {
  const handle = await open(file, 'r+');
  try {
    const tail = Buffer.alloc(bytes);
    await handle.read(tail, 0, bytes, from);
    await writeFile(to, tail, { mode: 0o600, flush: true });
    await handle.truncate(from);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function firstThatExists(files: readonly string[]): Promise<string | undefined> {
  for (const file of files) {
    try {
      await access(file, constants.R_OK | constants.W_OK);
      return file;
    } catch {
      // The next one then.
    }
  }
  return undefined;
}

/** What the checker says; nothing when there is no checker. It ends with 1 on a damaged file. */
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
