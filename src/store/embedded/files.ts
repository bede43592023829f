import { existsSync } from 'node:fs';
import { readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { unlessMissing } from '../durable-file.js';

/** The directory where Redis 7 and later keep a base and its increments. */
const APPEND_ONLY_DIRECTORY = 'appendonlydir';
const MANIFEST = 'appendonly.aof.manifest';
/** The single file of Redis 6. */
const SINGLE_FILE = 'appendonly.aof';
/** A base or an increment in the manifest. Files of type `h` are history and about to be removed. */
const NAMED = /^file (\S+) seq \d+ type [bi]\b/gm;
/** A file that a server is rewriting and has not completed. */
const DRAFT = /^temp-.*\.(?:aof|rdb)$/;

/** The manifest, or the single file of Redis 6; undefined if neither exists. */
export function appendOnlyFile(directory: string): string | undefined {
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

/** The missing files that the manifest names: no server starts without them. */
export async function missingFiles(directory: string): Promise<string[]> {
  const files = join(directory, APPEND_ONLY_DIRECTORY);
  const manifest = (await unlessMissing(readFile(join(files, MANIFEST), 'utf8'))) ?? '';
  const named = [...manifest.matchAll(NAMED)].map(([, name = '']) => join(files, name));
  return named.filter((file) => !existsSync(file));
}
