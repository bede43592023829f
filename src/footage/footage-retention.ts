import type { Dirent } from 'node:fs';
import { lstat, mkdir, readdir, rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { PLAUSIBLE_FROM_MS } from '../domain/time.js';
import type { Retention } from '../releasers.js';
import { isAbsent } from './file-failures.js';
import { DIRECTORY_MODE, DRAFTS } from './footage-folder.js';
import type { FootageQuota } from './footage-quota.js';

export interface FootageRetentionOptions {
  readonly directory: string;
  readonly maxAgeMs: number;
  readonly quota: FootageQuota;
  /** The clock that ages are measured by. */
  readonly now: () => number;
  readonly log: Logger;
}

/** Removes recordings once they are as old as expired alarms (docs/reference/contract.md, 5). */
export class FootageRetention implements Retention {
  readonly #options: FootageRetentionOptions;

  constructor(options: FootageRetentionOptions) {
    this.#options = options;
  }

  /**
   * Creates the folder, and removes the half-uploaded files of a killed gateway.
   *
   * Must run before any upload.
   */
  async prepare(): Promise<void> {
    const { directory } = this.#options;
    await mkdir(directory, { recursive: true, mode: DIRECTORY_MODE });
    await rm(join(directory, DRAFTS), { recursive: true, force: true });
  }

  async removeOld(stopping: AbortSignal): Promise<number> {
    const { directory, quota, log } = this.#options;
    let removed = 0;
    for (const deviceId of await directoriesIn(directory)) {
      try {
        for (const type of await directoriesIn(join(directory, deviceId))) {
          if (stopping.aborted) return removed;
          removed += await this.#removeOldIn(join(directory, deviceId, type));
        }
      } catch (error) {
        log.warn({ deviceId, err: error }, 'failed to remove old recordings of a device, retrying');
      }
      quota.forget(deviceId);
    }
    return removed;
  }

  /**
   * Removes recordings that are too old. If one was written while the machine's clock was not set, its age counts
   * from when it is found.
   */
  async #removeOldIn(directory: string): Promise<number> {
    const nowMs = this.#options.now();
    let removed = 0;
    for (const entry of await entriesOf(directory)) {
      if (!entry.isFile()) continue;
      const path = join(directory, entry.name);
      try {
        const { mtimeMs } = await lstat(path);
        if (mtimeMs < PLAUSIBLE_FROM_MS) {
          await utimes(path, new Date(nowMs), new Date(nowMs));
        } else if (mtimeMs < nowMs - this.#options.maxAgeMs) {
          await rm(path, { force: true });
          removed += 1;
        }
      } catch (error) {
        if (!isAbsent(error)) throw error;
      }
    }
    return removed;
  }
}

/** The names of the directories, but not of links, whose targets are not ours. */
async function directoriesIn(directory: string): Promise<string[]> {
  const directories = (await entriesOf(directory)).filter((entry) => entry.isDirectory());
  return directories.map(({ name }) => name).filter((name) => name !== DRAFTS);
}

/** Lists a directory; empty if its device was deleted in the meantime. */
async function entriesOf(directory: string): Promise<Dirent[]> {
  try {
    return await readdir(directory, { withFileTypes: true });
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}
