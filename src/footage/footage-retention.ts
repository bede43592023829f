import { lstat, mkdir, readdir, rm, utimes } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { PLAUSIBLE_FROM_MS } from '../domain/notation.js';
import type { Retention } from '../retention-schedule.js';
import { isAbsent } from './file-failures.js';
import { DIRECTORY_MODE, DRAFTS } from './footage-folder.js';
import type { FootageQuota } from './footage-quota.js';

export interface FootageRetentionOptions {
  readonly directory: string;
  readonly maxAgeMs: number;
  readonly quota: FootageQuota;
  /** The clock that ages are measured by. */
  readonly now: () => number;
}

/** Removes recordings once they are as old as expired alarms (CONTRACT 5). */
export class FootageRetention implements Retention {
  readonly #options: FootageRetentionOptions;

  constructor(options: FootageRetentionOptions) {
    this.#options = options;
  }

  /**
   * Makes the folder, and removes the half-uploaded files of a killed gateway.
   *
   * Must run before any upload.
   */
  async prepare(): Promise<void> {
    const { directory } = this.#options;
    await mkdir(directory, { recursive: true, mode: DIRECTORY_MODE });
    await rm(join(directory, DRAFTS), { recursive: true, force: true });
  }

  async removeOld(stopping: AbortSignal): Promise<number> {
    const { directory, maxAgeMs, quota, now } = this.#options;
    let removed = 0;
    for (const deviceDirectory of await directoriesIn(directory)) {
      for (const typeDirectory of await directoriesIn(deviceDirectory)) {
        if (stopping.aborted) return removed;
        removed += await removeOld(typeDirectory, now(), maxAgeMs);
      }
      quota.forget(basename(deviceDirectory));
    }
    return removed;
  }
}

/** Lists directories without following links, whose targets are not ours. */
async function directoriesIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const directories = entries.filter((entry) => entry.isDirectory() && entry.name !== DRAFTS);
  return directories.map(({ name }) => join(directory, name));
}

/**
 * Removes recordings that are too old. The age of one written while the machine's clock was not set counts
 * from when it is found.
 */
async function removeOld(directory: string, nowMs: number, maxAgeMs: number): Promise<number> {
  let removed = 0;
  for (const name of await readdir(directory)) {
    const path = join(directory, name);
    try {
      const status = await lstat(path);
      if (!status.isFile()) continue;
      if (status.mtimeMs < PLAUSIBLE_FROM_MS) {
        await utimes(path, new Date(nowMs), new Date(nowMs));
      } else if (status.mtimeMs < nowMs - maxAgeMs) {
        await rm(path, { force: true });
        removed += 1;
      }
    } catch (error) {
      if (!isAbsent(error)) throw error;
    }
  }
  return removed;
}
