import { readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { unlessMissing } from './durable-file.js';

/** Where Redis 7 and later keep a base and its increments, in the store's directory. */
export const APPEND_ONLY_DIRECTORY = 'appendonlydir';
/** The file that names all the others. */
export const MANIFEST = join(APPEND_ONLY_DIRECTORY, 'appendonly.aof.manifest');
/** The one file of Redis 6. */
export const SINGLE_FILE = 'appendonly.aof';

/** The base or an increment of it. */
export interface AppendOnlyFile {
  readonly name: string;
  readonly isBase: boolean;
  /** Its line of the manifest. */
  readonly line: string;
}

/** A line of the manifest; files of type `h` are history, about to be removed. */
const LINE = /^file (\S+) seq \d+ type ([bi])\b.*$/gm;

/** The base and its increments in their order, by the manifest; undefined without one, or with one that names none. */
export async function readManifest(directory: string): Promise<AppendOnlyFile[] | undefined> {
  const text = await unlessMissing(readFile(join(directory, MANIFEST), 'utf8'));
  if (text === undefined) return undefined;
  const lines = [...text.matchAll(LINE)];
  if (lines.length === 0) return undefined;
  return lines.map(([line, name = '', type]) => {
    return { name: basename(name), isBase: type === 'b', line };
  });
}

/** How many bytes the store has on the disk; undefined when one of its files is missing. */
export async function bytesOnDisk(directory: string): Promise<number | undefined> {
  const files = await readManifest(directory);
  const names = files?.map(({ name }) => join(APPEND_ONLY_DIRECTORY, name)) ?? [SINGLE_FILE];
  const found = names.map((name) => stat(join(directory, name)));
  const stats = await unlessMissing(Promise.all(found));
  return stats?.reduce((sum, { size }) => sum + size, 0);
}
