import { constants } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { systemErrorCode } from '../errors.js';

const FILE_MODE = 0o600;
const DRAFT_SUFFIX = '.new';

/** Writes a file atomically: after a power cut it is either complete or unchanged. */
export async function writeDurably(path: string, content: string): Promise<void> {
  const draft = path + DRAFT_SUFFIX;
  try {
    await writeDraft(draft, content);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await syncDirectory(dirname(path));
}

async function writeDraft(draft: string, content: string): Promise<void> {
  const handle = await open(draft, 'w', FILE_MODE);
  try {
    await handle.chmod(FILE_MODE);
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
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
