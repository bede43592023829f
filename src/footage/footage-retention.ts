import { lstat, mkdir, readdir, rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { PLAUSIBLE_FROM_MS } from '../domain/times.js';
import { isAbsent } from './file-failures.js';
import { DIRECTORY_MODE, DRAFTS } from './footage-folder.js';

const INTERVAL_MS = 24 * 3_600_000;

export interface FootageRetentionOptions {
  readonly directory: string;
  readonly maxAgeMs: number;
  readonly log: Logger;
  /** By which ages are measured. */
  readonly now: () => number;
}

/** Removes recordings when the time of their alarms is over (CONTRACT 5), once a day. */
export class FootageRetention {
  readonly #options: FootageRetentionOptions;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: FootageRetentionOptions) {
    this.#options = options;
  }

  /**
   * Also removes what is half uploaded, so it must come before any upload: the last gateway left that
   * behind when it was killed. Goes on once a day also when this fails.
   */
  async start(): Promise<void> {
    const { directory } = this.#options;
    this.#timer = setInterval(() => this.#runInBackground(), INTERVAL_MS);
    await mkdir(directory, { recursive: true, mode: DIRECTORY_MODE });
    await rm(join(directory, DRAFTS), { recursive: true, force: true });
    this.#runInBackground();
  }

  stop(): void {
    this.#stopped = true;
    clearInterval(this.#timer);
  }

  /** Removes every recording that is too old; returns how many there were. */
  async run(): Promise<number> {
    const { directory, maxAgeMs, now } = this.#options;
    let removed = 0;
    for (const deviceDirectory of await directoriesIn(directory)) {
      for (const typeDirectory of await directoriesIn(deviceDirectory)) {
        if (this.#stopped) return removed;
        removed += await removeOld(typeDirectory, now(), maxAgeMs);
      }
    }
    return removed;
  }

  #runInBackground(): void {
    const { log } = this.#options;
    this.run()
      .then((removed) => {
        if (removed > 0) log.info({ removed }, 'recordings removed, their time is over');
      })
      .catch((error: unknown) => log.warn({ err: error }, 'old recordings not removed'));
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
