import { readFile, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { systemErrorCode } from '../errors.js';

/** Of Redis 7 and later, in the store's directory. */
export const APPEND_ONLY_DIRECTORY = 'appendonlydir';
const MANIFEST = join(APPEND_ONLY_DIRECTORY, 'appendonly.aof.manifest');
/** Of Redis 6, which has all in one. */
const SINGLE_FILE = 'appendonly.aof';

/** What to have checked: names all files, or is the only one. */
export const CHECKABLE_FILES = [MANIFEST, SINGLE_FILE];

/** A line of the manifest; files of type `h` are history, and about to be removed. */
const ENTRY = /^file (\S+) seq \d+ type [bi]$/;

/**
 * How many bytes the append-only files of a store have on the disk.
 *
 * @returns undefined when one of them is missing
 */
export async function bytesOnDisk(directory: string): Promise<number | undefined> {
  try {
    const sizes = (await filesOf(directory)).map(async (file) => (await stat(file)).size);
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function filesOf(directory: string): Promise<string[]> {
  const manifest = join(directory, MANIFEST);
  const text = await readFile(manifest, 'utf8').catch((error: unknown) => {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return [join(directory, SINGLE_FILE)];
  return text.split('\n').flatMap((line) => {
    const [, name] = ENTRY.exec(line) ?? [];
    return name === undefined ? [] : [join(dirname(manifest), basename(name))];
  });
}
