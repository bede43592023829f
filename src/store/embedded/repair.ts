import { execFile } from 'node:child_process';
import { createReadStream, createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { appendOnlyFile } from './files.js';

const CHECKERS = ['redis-check-aof', 'valkey-check-aof'];
const REPORT = /AOF analyzed: (?:filename=(.+), )?size=\d+, ok_up_to=(\d+),.* diff=(\d+)/g;
/** A longer end that contains a whole transaction is not torn: it may have been acknowledged. */
const MAX_DOUBTFUL_BYTES = 1024 * 1024;
const END_OF_TRANSACTION = '*1\r\n$4\r\nEXEC\r\n';

/**
 * Cuts the torn end off the last append-only file with the server's own checker, and keeps a copy of the end.
 *
 * Every write is synced before it is answered: nothing in a torn end was acknowledged. No server may be running.
 *
 * @returns undefined without a torn end; no `copy` if the disk had no room for it
 */
export async function cutTornEnd(directory: string, searchPath: string | undefined) {
  const checked = appendOnlyFile(directory);
  if (checked === undefined) return undefined;
  const report = await runChecker([checked], searchPath);
  const [, name = checked, wholeBytes, tornBytes = 0] = [...report.matchAll(REPORT)].at(-1) ?? [];
  const [start, bytes] = [Number(wholeBytes), Number(tornBytes)];
  const file = join(dirname(checked), basename(name));
  const isTorn = bytes <= MAX_DOUBTFUL_BYTES || !(await hasTransaction(file, start));
  if (bytes === 0 || !isTorn) return undefined;
  const copy = join(directory, `torn-end-${Date.now()}.aof`);
  const to = createWriteStream(copy, { mode: 0o600, flush: true });
  const isKept = await pipeline(createReadStream(file, { start }), to).then(
    () => true,
    () => rm(copy, { force: true }).then(() => false),
  );
  await runChecker(['--fix', checked], searchPath);
  return { file, bytes, copy: isKept ? copy : undefined };
}

async function hasTransaction(file: string, start: number): Promise<boolean> {
  // This misses one that spans two chunks, but an end this long with acknowledged writes has others.
  for await (const chunk of createReadStream(file, { start })) {
    if (chunk.includes(END_OF_TRANSACTION)) return true;
  }
  return false;
}

/** Runs the checker and answers its question with yes. Returns its output; empty if none is installed. */
async function runChecker(args: string[], searchPath: string | undefined): Promise<string> {
  const env = searchPath === undefined ? undefined : { PATH: searchPath };
  for (const program of CHECKERS) {
    const said = await new Promise<string>((resolve) => {
      const checker = execFile(program, args, { env }, (_, output) => resolve(output));
      checker.stdin?.on('error', () => undefined).end('y\n');
    });
    if (said !== '') return said;
  }
  return '';
}
