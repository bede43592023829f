import { constants } from 'node:fs';
import { open, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { systemErrorCode } from '../errors.js';

const FILE_MODE = 0o600;
const DRAFT_SUFFIX = '.new';

/** Writes a file atomically: after a power cut it is either complete or unchanged. */
export async function writeDurably(path: string, content: string): Promise<void> {
  const draft = path + DRAFT_SUFFIX;
  try {
    // One that is left keeps the rights that it has.
    await rm(draft, { force: true });
    await writeFile(draft, content, { mode: FILE_MODE, flush: true });
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await syncDirectory(dirname(path));
}

/** Syncs a directory: only this puts the names in it on disk. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The result of the read; undefined if the file does not exist. */
export async function unlessMissing<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
