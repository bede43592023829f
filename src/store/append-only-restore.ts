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
  const named = await readManifest(directory);
  const files = named ?? (await filesByName(directory));
  const present = await presentOf(directory, files);
  if (files.length === 0 || (named !== undefined && present.length === files.length)) {
    return undefined;
  }
  const bases = present.filter(({ type }) => type === 'base');
  if (bases.length === 1) {
    await writeDurably(join(directory, MANIFEST), manifestOf(present));
    return { kept: present.map(({ name }) => name), movedTo: undefined };
  }
  // Increments alone, or of an unknown base, cannot be trusted.
  const movedTo = join(directory, `${APPEND_ONLY_DIRECTORY}-incomplete-${Date.now()}`);
  await rename(join(directory, APPEND_ONLY_DIRECTORY), movedTo);
  return { kept: [], movedTo };
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

/** The files before the first missing one: nothing after a gap fits. */
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
