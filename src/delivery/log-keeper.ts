import type { Logger } from 'pino';
import { PLAUSIBLE_FROM_MS } from '../domain/times.js';
import type { Destination } from './destination.js';
import type { LogEntry, LogName, LogReader } from './log-entry.js';
import { LOG_NAMES } from './log-entry.js';
import type { Router } from './router.js';
import type { LogPositions } from './subscriptions.js';

const INTERVAL_MS = 10_000;
const PAGE_ENTRIES = 1_000;

export interface KeepableLogs extends LogReader {
  /** Removes the entries up to and including this one. */
  trim(log: LogName, upToSequence: number): Promise<void>;
}

export interface LogKeeperOptions {
  readonly logs: KeepableLogs;
  readonly router: Router;
  /** Stores where the destinations are now. */
  readonly saveProgress: () => Promise<void>;
  /** Up to where nobody is owed anything of the log, going by what is stored. */
  readonly storedSettled: (log: LogName) => number;
  readonly log: Logger;
  readonly now: () => number;
}

/**
 * Keeps the logs in bounds: lets fall out what is too old or was dropped, for all destinations in one
 * pass, and removes from the store what nobody is owed any more.
 */
export class LogKeeper {
  readonly #options: LogKeeperOptions;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #isKeeping = false;

  constructor(options: LogKeeperOptions) {
    this.#options = options;
  }

  /** Counts again what every stored session is owed; before anything is appended. */
  async recount(): Promise<void> {
    const destinations = [...this.#options.router.destinations];
    for (const log of LOG_NAMES) {
      // Where a backup was restored, the log may end before a session's saved cursor.
      const { last } = this.#options.router.tails[log];
      for (const destination of destinations) destination.storeWentBack(log, last);
      const from = Math.min(...destinations.map(({ cursors }) => cursors[log].position));
      if (Number.isFinite(from)) await this.#recountFrom(log, from);
    }
    for (const destination of destinations) destination.recounted();
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#options.router.wakeAll();
      if (!this.#isKeeping) this.#running = this.#keepInBackground();
    }, INTERVAL_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }

  /** One pass over both logs. */
  async keep(): Promise<void> {
    for (const log of LOG_NAMES) await this.#sweep(log);
    const settled = { alarms: this.#settled('alarms'), messages: this.#settled('messages') };
    // First, so that whoever starts again from what is stored counts no entry as there that is gone:
    // he would drop another in the place of one that was dropped.
    await this.#saveProgress(settled);
    await this.#trim(settled);
  }

  /** Up to where nobody is owed anything. */
  #settled(log: LogName): number {
    const { router } = this.#options;
    const settled = [...router.destinations].map(({ cursors }) => cursors[log].settled);
    return Math.min(router.tails[log].last, ...settled);
  }

  /** A full store takes no cursors; room is made by what nobody is owed going by those that it has. */
  async #saveProgress(settled: LogPositions): Promise<void> {
    const { saveProgress, storedSettled } = this.#options;
    try {
      await saveProgress();
    } catch {
      await this.#trim({
        alarms: Math.min(settled.alarms, storedSettled('alarms')),
        messages: Math.min(settled.messages, storedSettled('messages')),
      });
      await saveProgress();
    }
  }

  async #trim(upTo: LogPositions): Promise<void> {
    for (const log of LOG_NAMES) {
      if (upTo[log] > 0) await this.#options.logs.trim(log, upTo[log]);
    }
  }

  async #keepInBackground(): Promise<void> {
    this.#isKeeping = true;
    try {
      await this.keep();
    } catch (error) {
      this.#options.log.warn({ err: error }, 'logs not trimmed, trying again');
    } finally {
      this.#isKeeping = false;
    }
  }

  async #recountFrom(log: LogName, from: number): Promise<void> {
    const { logs, router } = this.#options;
    const { last } = router.tails[log];
    for await (const entry of entriesAfter(logs, log, from)) {
      if (entry.sequence > last) return;
      for (const { cursors } of router.concerned(entry.topic)) cursors[log].recount(entry);
    }
  }

  /** Those of one bound together: they are at one point of the log, whatever the others wait for. */
  async #sweep(log: LogName): Promise<void> {
    const { destinations } = this.#options.router;
    const ages = new Set([...destinations].map(({ limits }) => limits.maxAgeMs));
    for (const maxAgeMs of ages) {
      const alike = [...destinations].filter(({ limits }) => limits.maxAgeMs === maxAgeMs);
      await this.#sweepFor(log, new Set(alike), maxAgeMs);
    }
  }

  async #sweepFor(log: LogName, remaining: Set<Destination>, maxAgeMs: number): Promise<void> {
    const { logs, router, now } = this.#options;
    const oldestMs = now() - maxAgeMs;
    const { last } = router.tails[log];
    const settled = Math.min(...[...remaining].map(({ cursors }) => cursors[log].settled));
    const rewinds = new Map([...remaining].map((one) => [one, one.cursors[log].rewindCount]));
    for await (const entry of entriesAfter(logs, log, settled)) {
      const { receivedAtMs } = entry;
      const isExpired = receivedAtMs >= PLAUSIBLE_FROM_MS && receivedAtMs < oldestMs;
      if (entry.sequence > last || !(isExpired || someDropped(log, remaining))) return;
      for (const destination of router.concerned(entry.topic)) {
        if (!remaining.has(destination)) continue;
        // One that went back meanwhile, because its connection broke, has earlier entries again.
        const isBack = destination.cursors[log].rewindCount !== rewinds.get(destination);
        if (isBack || !destination.sweep(entry, isExpired)) remaining.delete(destination);
      }
    }
  }
}

function someDropped(log: LogName, destinations: ReadonlySet<Destination>): boolean {
  for (const { cursors } of destinations) if (cursors[log].toSkip > 0) return true;
  return false;
}

async function* entriesAfter(
  reader: LogReader,
  log: LogName,
  sequence: number,
): AsyncGenerator<LogEntry> {
  let after = sequence;
  for (;;) {
    const page = await reader.read(log, after, PAGE_ENTRIES);
    yield* page;
    const newest = page.at(-1);
    if (newest === undefined || page.length < PAGE_ENTRIES) return;
    after = newest.sequence;
  }
}
