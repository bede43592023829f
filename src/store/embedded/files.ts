import { existsSync } from 'node:fs';
import { readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { unlessMissing } from '../durable-file.js';

/** Where Redis 7 and later keep a base and its increments, in the store's directory. */
const APPEND_ONLY_DIRECTORY = 'appendonlydir';
const MANIFEST = 'appendonly.aof.manifest';
/** The one file of Redis 6. */
const SINGLE_FILE = 'appendonly.aof';
/** A base or an increment in the manifest; files of type `h` are history, about to be removed. */
const NAMED = /^file (\S+) seq \d+ type [bi]\b/gm;
/** What a server writes anew, until it is whole. */
const DRAFT = /^temp-.*\.(?:aof|rdb)$/;

/** The manifest, or the one file of Redis 6; undefined when there is neither. */
export function appendOnlyFile(directory: string): string | undefined {
  const files = [join(directory, APPEND_ONLY_DIRECTORY, MANIFEST), join(directory, SINGLE_FILE)];
  return files.find((file) => existsSync(file));
}

/**
 * Removes what servers that were killed had begun to write anew, as large as all data.
 *
 * A server removes its own drafts only. No server may be running.
 */
export async function removeDrafts(directory: string): Promise<void> {
  const drafts = (await readdir(directory)).filter((name) => DRAFT.test(name));
  await Promise.all(drafts.map((name) => rm(join(directory, name), { force: true })));
}

/**
 * Moves append-only files away that no manifest names: a server would start empty, and write over them.
 *
 * A first start that was killed leaves such files, too. No server may be running.
 *
 * @returns where they are now; undefined when there are none
 */
export async function moveUnnamedFiles(directory: string): Promise<string | undefined> {
  const files = join(directory, APPEND_ONLY_DIRECTORY);
  const names = (await unlessMissing(readdir(files))) ?? [];
  if (names.length === 0 || names.includes(MANIFEST)) return undefined;
  const movedTo = `${files}-without-manifest-${Date.now()}`;
  await rename(files, movedTo);
  return movedTo;
}

/** The files that the manifest names and that are not there: no server starts without them. */
export async function missingFiles(directory: string): Promise<string[]> {
  const files = join(directory, APPEND_ONLY_DIRECTORY);
  const manifest = (await unlessMissing(readFile(join(files, MANIFEST), 'utf8'))) ?? '';
  const named = [...manifest.matchAll(NAMED)].map(([, name = '']) => join(files, name));
  return named.filter((file) => !existsSync(file));
}
