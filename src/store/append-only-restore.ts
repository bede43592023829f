import { readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import {
  APPEND_ONLY_DIRECTORY,
  type AppendOnlyFile,
  MANIFEST,
  manifestOf,
  readManifest,
  sizeOf,
  unlessMissing,
} from './append-only-files.js';
import { writeDurably } from './durable-file.js';

const NAME = /^appendonly\.aof\.(\d+)\.(?:(base)\.(?:rdb|aof)|incr\.aof)$/;

/** How incomplete append-only files were restored. */
export interface RestoredFiles {
  /** The files that the server starts with. */
  readonly kept: readonly string[];
  /** Where the files are that nothing can be made of; undefined when there are none. */
  readonly setAside: string | undefined;
}

/**
 * Has the server start with all that is left when some of its append-only files are missing.
 *
 * By itself a server does not start without a file that the manifest names; without the manifest it
 * starts empty, writes behind what the files have, and mixes both up at the next start (FINDINGS R12).
 * The gateway finds by its witness what that has cost. No server may be running.
 *
 * @returns undefined when nothing is missing
 */
export async function restoreIncompleteFiles(
  directory: string,
): Promise<RestoredFiles | undefined> {
  const named = await readManifest(directory);
  const files = named ?? (await filesByName(directory));
  const present = await presentOf(directory, files);
  if (files.length === 0 || (named !== undefined && present.length === files.length)) {
    return undefined;
  }
  const bases = present.filter(({ type }) => type === 'base');
  if (bases.length === 1) {
    await writeDurably(join(directory, MANIFEST), manifestOf(present));
    return { kept: present.map(({ name }) => name), setAside: undefined };
  }
  // Increments alone, or of an unknown base, are not what was stored.
  const setAside = join(directory, `${APPEND_ONLY_DIRECTORY}-incomplete-${Date.now()}`);
  await rename(join(directory, APPEND_ONLY_DIRECTORY), setAside);
  return { kept: [], setAside };
}

/** The files as they would stand in the manifest. */
async function filesByName(directory: string): Promise<AppendOnlyFile[]> {
  const names = await unlessMissing(readdir(join(directory, APPEND_ONLY_DIRECTORY)));
  const files = (names ?? []).flatMap((name): AppendOnlyFile[] => {
    const [, number, base] = NAME.exec(name) ?? [];
    if (number === undefined) return [];
    return [{ name, number: Number(number), type: base === undefined ? 'increment' : 'base' }];
  });
  const increments = files.filter(({ type }) => type === 'increment');
  return [
    ...files.filter(({ type }) => type === 'base'),
    ...increments.sort((one, other) => one.number - other.number),
  ];
}

/** The files in front of the first missing one: what came behind a gap does not fit. */
async function presentOf(
  directory: string,
  files: readonly AppendOnlyFile[],
): Promise<AppendOnlyFile[]> {
  const present: AppendOnlyFile[] = [];
  for (const file of files) {
    const size = await sizeOf(join(directory, APPEND_ONLY_DIRECTORY, file.name));
    if (size === undefined) return present;
    present.push(file);
  }
  return present;
}
