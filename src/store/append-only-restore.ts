import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  APPEND_ONLY_DIRECTORY,
  type AppendOnlyFile,
  MANIFEST,
  readManifest,
} from './append-only-files.js';
import { unlessMissing, writeDurably } from './durable-file.js';

const NAME = /^appendonly\.aof\.(\d+)\.(?:(base)\.(?:rdb|aof)|incr\.aof)$/;

/** What a server writes anew, until it is whole. */
const DRAFT = /^temp-.*\.(?:aof|rdb)$/;

/** How incomplete append-only files were restored. */
export interface RestoredFiles {
  /** The files that the server starts with. */
  readonly kept: readonly string[];
  /** Where unusable files were moved; undefined when there are none. */
  readonly movedTo: string | undefined;
}

/**
 * Makes the server start with the append-only files that are left.
 *
 * By itself a server does not start without a file that the manifest names; without the manifest it
 * starts empty, appends to the old files, and mixes both up at the next start (FINDINGS R12). The
 * witness tells the gateway what was lost. No server may be running.
 *
 * @returns undefined when nothing is missing
 */
export async function restoreIncompleteFiles(
  directory: string,
): Promise<RestoredFiles | undefined> {
  const names = (await unlessMissing(readdir(join(directory, APPEND_ONLY_DIRECTORY)))) ?? [];
  const named = await readManifest(directory);
  const files = named ?? filesOf(names);
  // Nothing after a gap fits.
  const gap = files.findIndex(({ name }) => !names.includes(name));
  if (files.length === 0 || (named !== undefined && gap === -1)) return undefined;
  const present = gap === -1 ? files : files.slice(0, gap);
  if (present.filter(({ isBase }) => isBase).length === 1) {
    const lines = present.map(({ line }) => `${line}\n`);
    await writeDurably(join(directory, MANIFEST), lines.join(''));
    return { kept: present.map(({ name }) => name), movedTo: undefined };
  }
  // Increments alone, or of an unknown base, cannot be trusted.
  const movedTo = join(directory, `${APPEND_ONLY_DIRECTORY}-incomplete-${Date.now()}`);
  await rename(join(directory, APPEND_ONLY_DIRECTORY), movedTo);
  return { kept: [], movedTo };
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

/** The files as they would stand in the manifest: the base, then its increments by their numbers. */
function filesOf(names: readonly string[]): AppendOnlyFile[] {
  const files = names.flatMap((name) => {
    const [, number, base] = NAME.exec(name) ?? [];
    if (number === undefined) return [];
    const isBase = base !== undefined;
    const line = `file ${name} seq ${number} type ${isBase ? 'b' : 'i'}`;
    return [{ name, isBase, line, order: isBase ? 0 : Number(number) }];
  });
  return files.sort((one, other) => one.order - other.order);
}
