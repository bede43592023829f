import { readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { systemErrorCode } from '../errors.js';

/** Where Redis 7 and later keep a base and its increments, in the store's directory. */
export const APPEND_ONLY_DIRECTORY = 'appendonlydir';
/** The file that names all the others. */
export const MANIFEST = join(APPEND_ONLY_DIRECTORY, 'appendonly.aof.manifest');
/** The one file of Redis 6. */
export const SINGLE_FILE = 'appendonly.aof';

/** A file of the manifest: the base or an increment, in their order. */
export interface AppendOnlyFile {
  readonly name: string;
  readonly number: number;
  readonly type: 'base' | 'increment';
}

/** A line of the manifest; files of type `h` are history, about to be removed. */
const LINE = /^file (\S+) seq (\d+) type ([bi])$/;

/** The files that the manifest names; undefined without a manifest. */
export async function readManifest(directory: string): Promise<AppendOnlyFile[] | undefined> {
  const text = await unlessMissing(readFile(join(directory, MANIFEST), 'utf8'));
  return text?.split('\n').flatMap((line) => {
    const [, name, number, type] = LINE.exec(line) ?? [];
    if (name === undefined) return [];
    const file = { name: basename(name), number: Number(number) };
    return [{ ...file, type: type === 'b' ? 'base' : 'increment' } as const];
  });
}

/** The manifest of these files. */
export function manifestOf(files: readonly AppendOnlyFile[]): string {
  const lines = files.map(
    ({ name, number, type }) => `file ${name} seq ${number} type ${type === 'base' ? 'b' : 'i'}\n`,
  );
  return lines.join('');
}

/** How many bytes the store has on the disk; undefined when one of its files is missing. */
export async function bytesOnDisk(directory: string): Promise<number | undefined> {
  const files = await readManifest(directory);
  const names = files?.map(({ name }) => join(APPEND_ONLY_DIRECTORY, name)) ?? [SINGLE_FILE];
  const sizes = await Promise.all(names.map((name) => sizeOf(join(directory, name))));
  return sizes.reduce(
    (sum, size) => (sum === undefined || size === undefined ? undefined : sum + size),
    0,
  );
}

/** The file's length in bytes; undefined when it is missing. */
export async function sizeOf(file: string): Promise<number | undefined> {
  return (await unlessMissing(stat(file)))?.size;
}

/** The result of the read; undefined when there is no such file. */
export async function unlessMissing<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
