import type { Logger } from 'pino';
import { repeat } from './repeat.js';

/** Removes things of one kind that are too old. */
export interface Retention {
  /** Removes all of them, or only some when stopped. Returns how many. */
  removeOld(stopping: AbortSignal): Promise<number>;
}

export interface RetentionOptions {
  /** A plural noun for the things removed, for the log. */
  readonly what: string;
  readonly intervalMs: number;
  readonly log: Logger;
}

/**
 * Runs a retention immediately, and again an interval after each run ends, until the returned function is called.
 *
 * A run may wait for the store for hours. A failed run is repeated at the next interval.
 */
export function runRetention(
  retention: Retention,
  { what, intervalMs, log }: RetentionOptions,
): () => void {
  const stopping = new AbortController();
  const stop = repeat(async () => {
    try {
      const removed = await retention.removeOld(stopping.signal);
      if (removed > 0) log.info({ removed }, `removed old ${what}`);
    } catch (error) {
      log.warn({ err: error }, `failed to remove old ${what}, retrying`);
    }
  }, intervalMs);
  return () => {
    stopping.abort();
    stop();
  };
}
