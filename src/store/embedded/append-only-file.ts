/**
 * The append-only file of the embedded store, before a server is started on it: drafts of killed servers are removed,
 * files without a manifest moved away, and an end that a power cut has torn is cut off. Besides: what a backup copies.
 */
import { execFile } from 'node:child_process';
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { type FileHandle, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { GatewayError } from '../../errors.js';
import { unlessMissing } from '../../files.js';

/** The directory where Redis 7 and later keep a base and its increments. */
const APPEND_ONLY_DIRECTORY = 'appendonlydir';
const MANIFEST = 'appendonly.aof.manifest';
/** The single file of Redis 6. */
const SINGLE_FILE = 'appendonly.aof';
/** A file that a server is rewriting and has not completed. */
const DRAFT = /^temp-.*\.(?:aof|rdb)$/;

/** The manifest, or the single file of Redis 6; undefined if neither exists. */
function appendOnlyFile(directory: string): string | undefined {
  const files = [join(directory, APPEND_ONLY_DIRECTORY, MANIFEST), join(directory, SINGLE_FILE)];
  return files.find((file) => existsSync(file));
}

/**
 * Removes unfinished rewrites of killed servers, which may be as large as all data.
 *
 * A server removes only its own drafts. No server may be running.
 */
export async function removeDrafts(directory: string): Promise<void> {
  const drafts = (await readdir(directory)).filter((name) => DRAFT.test(name));
  await Promise.all(drafts.map((name) => rm(join(directory, name), { force: true })));
}

/**
 * Moves away append-only files without a manifest: a server would start empty and overwrite them.
 *
 * A killed first start also leaves such files. No server may be running.
 *
 * @returns where they are now; undefined if there are none
 */
export async function moveUnnamedFiles(directory: string): Promise<string | undefined> {
  const files = join(directory, APPEND_ONLY_DIRECTORY);
  const names = (await unlessMissing(readdir(files))) ?? [];
  if (names.length === 0 || names.includes(MANIFEST)) return undefined;
  const movedTo = `${files}-without-manifest-${Date.now()}`;
  await rename(files, movedTo);
  return movedTo;
}

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

/** What a backup has to copy of the append-only file. */
export interface OpenedFiles {
  /** Their paths below the directory, in the order in which a server reads them. */
  readonly files: readonly { readonly name: string; readonly handle: FileHandle }[];
  /** The text that must name them once they are copied, and its path; undefined for the single file of Redis 6. */
  readonly manifest: { readonly name: string; readonly text: string } | undefined;
}

/** A line of the manifest for a file that still counts: the base, or an increment. */
const COUNTING = /^file (\S+) seq \d+ type [bi]$/gm;

/**
 * Opens the files that hold everything stored before the call, while a server may write to them.
 *
 * A server only appends to the last of them. A rewrite replaces files and removes the old ones, but an open file stays
 * whole. What is copied may end within a transaction, like that of a power cut: the next start cuts it.
 *
 * @throws GatewayError `start-failed` if there is no store
 */
export async function openAppendOnlyFiles(directory: string): Promise<OpenedFiles> {
  const path = join(directory, APPEND_ONLY_DIRECTORY, MANIFEST);
  for (let text = await unlessMissing(readFile(path, 'utf8')); ; ) {
    const lines = [...(text ?? '').matchAll(COUNTING)];
    const names =
      text === undefined
        ? [SINGLE_FILE]
        : lines.map(([, name = '']) => `${APPEND_ONLY_DIRECTORY}/${name}`);
    const opened = await Promise.all(
      names.map(async (name) => {
        const handle = await unlessMissing(open(join(directory, name), 'r'));
        return handle === undefined ? [] : [{ name, handle }];
      }),
    );
    const files = opened.flat();
    if (files.length === names.length) {
      const lasting = lines.map(([line]) => `${line}\n`).join('');
      const name = `${APPEND_ONLY_DIRECTORY}/${MANIFEST}`;
      return { files, manifest: text === undefined ? undefined : { name, text: lasting } };
    }
    await Promise.all(files.map(({ handle }) => handle.close()));
    // A rewrite has ended since the manifest was read, or the store is damaged.
    const again = await unlessMissing(readFile(path, 'utf8'));
    if (again === text) throw new GatewayError('start-failed', `there is no store in ${directory}`);
    text = again;
  }
}
