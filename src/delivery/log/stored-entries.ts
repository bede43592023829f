import { pause } from '../../site/clock/pause.js';
import type { LogEntry, LogName, LogReader } from './log-entry.js';

type Reader = Pick<LogReader, 'read'>;

const PAGE_ENTRIES = 1_000;
const RETRY_AFTER_MS = 250;

/** Yields the stored entries after one number up to another, in order, but for those that are gone. */
export async function* entriesBetween(
  reader: Reader,
  log: LogName,
  after: number,
  upTo: number,
): AsyncGenerator<LogEntry> {
  for (let last = after; last < upTo; ) {
    const page = await reader.read(log, last, Math.min(upTo - last, PAGE_ENTRIES));
    for (const entry of page) if (entry.sequence <= upTo) yield entry;
    // A page may be short because its entries are large; an empty one tells that the rest is gone.
    last = page.at(-1)?.sequence ?? upTo;
  }
}

/**
 * A reader that waits for the store as long as it takes.
 *
 * @throws AbortError once stopped by the signal
 */
export function retrying(
  reader: Reader,
  signal: AbortSignal,
  onFailure: (error: unknown, log: LogName) => void,
): Reader {
  return {
    async read(log, afterSequence, count) {
      for (;;) {
        signal.throwIfAborted();
        try {
          return await reader.read(log, afterSequence, count);
        } catch (error) {
          onFailure(error, log);
          await pause(RETRY_AFTER_MS, signal);
        }
      }
    },
  };
}
