import { lstat, mkdir, readdir, rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { PLAUSIBLE_FROM_MS } from '../domain/notation.js';
import type { Retention } from '../retention-schedule.js';
import { isAbsent } from './file-failures.js';
import { DIRECTORY_MODE, DRAFTS } from './footage-folder.js';

export interface FootageRetentionOptions {
  readonly directory: string;
  readonly maxAgeMs: number;
  /** By which ages are measured. */
  readonly now: () => number;
}

/** Removes recordings when the time of their alarms is over (CONTRACT 5). */
export class FootageRetention implements Retention {
  readonly #options: FootageRetentionOptions;

  constructor(options: FootageRetentionOptions) {
    this.#options = options;
  }

  /**
   * Makes the folder, and removes what is half uploaded, so it must come before any upload: the last
   * gateway left that behind when it was killed.
   */
  async prepare(): Promise<void> {
    const { directory } = this.#options;
    await mkdir(directory, { recursive: true, mode: DIRECTORY_MODE });
    await rm(join(directory, DRAFTS), { recursive: true, force: true });
  }

  async removeOld(stopping: AbortSignal): Promise<number> {
    const { directory, maxAgeMs, now } = this.#options;
    let removed = 0;
    for (const deviceDirectory of await directoriesIn(directory)) {
      for (const typeDirectory of await directoriesIn(deviceDirectory)) {
        if (stopping.aborted) return removed;
        removed += await removeOld(typeDirectory, now(), maxAgeMs);
      }
    }
    return removed;
  }
}

/** Links are not followed: what they lead to is not ours. */
async function directoriesIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const directories = entries.filter((entry) => entry.isDirectory() && entry.name !== DRAFTS);
  return directories.map(({ name }) => join(directory, name));
}

/**
 * A recording from when the clock of the machine was not set is as old as it is found to be: its age
 * counts from then on.
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
