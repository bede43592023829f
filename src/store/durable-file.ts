import { constants } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

const FILE_MODE = 0o600;
const DRAFT_SUFFIX = '.new';

/** Writes a file that is on the disk whole, or as it was before, also after a power cut. */
export async function writeDurably(path: string, content: string | Buffer): Promise<void> {
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

async function writeDraft(draft: string, content: string | Buffer): Promise<void> {
  const handle = await open(draft, 'w', FILE_MODE);
  try {
    await handle.chmod(FILE_MODE);
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Syncs the names in a directory, which are on the disk only then. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
