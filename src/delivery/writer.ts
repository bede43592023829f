/**
 * The only way into the history: store a batch, announce it, acknowledge it.
 *
 * Entries that arrive while a batch is being stored form the next batch: the store forces each write to disk, which
 * takes as long for a hundred alarms as for one. They stay in one array, in order, until they are stored. Any error of
 * the store is an outage: the writer keeps the batch, tries it again in order, and acknowledges none of it. An entry
 * that the store cannot take by itself is refused: its sender is told, and sends it again.
 */
import type { Logger } from 'pino';
import type { FaultReport } from '../domain/fault.js';
import { oneAtATime } from '../releasers.js';
import { bytesOfMessage } from './message.js';
import { type HistoryStore, isAlarm, type NewAlarm, type NewEntry } from './new-entry.js';
import { failedWrite, isDataError, isPassing, isUnanswered, lastLeft } from './reply-code.js';
import type { Router } from './router.js';

/** A larger batch would hold up the store and all its users for too long. */
const MAX_BATCH_ENTRIES = 250;
const MAX_BATCH_BYTES = 1024 * 1024;
const RETRY_AFTER_MS = 250;
/** A temporary refusal, as during a failover, counts as an outage only after this time. */
const PASSING_MS = 1_000;

/**
 * Called in the order of the history, once an entry is stored and announced, or given up.
 *
 * @param isStored false when the store refuses the entry, or the gateway stops
 * @param number 0 if its condition did not hold, negative if it was recorded before
 */
export type Done = (isStored: boolean, number: number) => void;

export interface WriterOptions {
  readonly store: HistoryStore;
  readonly router: Pick<Router, 'numbers' | 'destinationsOf' | 'announce' | 'wentBack' | 'mend'>;
  /** Called with the reason when the store takes nothing, and with undefined once it does again. */
  readonly onOutage: (fault: FaultReport | undefined) => void;
  /** Called with the entries that the store refuses, the newest of each device. */
  readonly onRefused: (entries: readonly NewEntry[]) => void;
  /** Sends a refused alarm to the connected subscribers that do not have it. */
  readonly sendLive: (alarm: NewAlarm, sentTo: Set<unknown>) => void;
  readonly log: Logger;
}

/** An entry on its way to the store. */
export interface Unstored {
  readonly entry: NewEntry;
  /** By `performance.now`; infinite for what was sent live before the store lost it. */
  readonly sinceMs: number;
  /** The connections that have a live copy. */
  sentTo?: Set<unknown>;
}

interface Waiting extends Unstored {
  readonly done: Done;
}

export class Writer {
  readonly #options: WriterOptions;
  /** The batch being stored is at the front. */
  readonly #waiting: Waiting[] = [];
  /** The newest refused entry of each device or topic. */
  readonly #refused = new Map<string, NewEntry>();
  readonly #write = oneAtATime(() => this.#run());
  #isCheckDue = false;
  #isStopped = false;
  #hasFailed = false;
  /** Since when the store has refused the batch for temporary reasons. */
  #refusedSinceMs: number | undefined;
  /** Since when the current write has waited for its answer. */
  #writtenAtMs: number | undefined;
  #wakeRetry: () => void = () => undefined;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  append(entry: NewEntry, done: Done): void {
    if (this.#isStopped) {
      done(false, 0);
      return;
    }
    this.#waiting.push({ entry, done, sinceMs: performance.now() });
    void this.#write();
  }

  /** Compares with the store's newest entry now, as every batch does, so that lost entries do not wait for the next one. */
  check(): void {
    this.#isCheckDue = true;
    void this.#write();
  }

  /** Entries that wait for the store or its answer. */
  unstored(): Iterable<Unstored> {
    return this.#waiting;
  }

  /** How long the current write has waited for the store's answer, in milliseconds. */
  get unansweredMs(): number {
    return this.#writtenAtMs === undefined ? 0 : performance.now() - this.#writtenAtMs;
  }

  /** Gives up the entries that are not stored; none of them was acknowledged. */
  stop(): void {
    this.#isStopped = true;
    this.#wakeRetry();
    for (const { done } of this.#waiting.splice(0)) done(false, 0);
  }

  async #run(): Promise<void> {
    try {
      await this.#writeWaiting();
    } finally {
      this.#writtenAtMs = undefined;
    }
  }

  async #writeWaiting(): Promise<void> {
    while (!this.#isStopped && (this.#waiting.length > 0 || this.#isCheckDue)) {
      const batch = this.#next();
      this.#isCheckDue = false;
      this.#writtenAtMs = performance.now();
      try {
        await this.#store(batch);
        this.#succeeded();
      } catch (error) {
        const last = lastLeft(error);
        if (this.#isStopped) break;
        if (last !== undefined) this.#restore(this.#options.router.wentBack(last));
        else if (isDataError(error) && batch.length > 0) await this.#oneByOne(batch);
        else await this.#untilRetry(error);
      }
    }
  }

  /** The entries at the front that one write takes: at least one, if there is any. */
  #next(): readonly Waiting[] {
    let bytes = 0;
    const end = this.#waiting.findIndex(({ entry }, index) => {
      bytes += bytesOfMessage(entry);
      return index === MAX_BATCH_ENTRIES || (index > 0 && bytes > MAX_BATCH_BYTES);
    });
    return this.#waiting.slice(0, end < 0 ? undefined : end);
  }

  /** Stores, announces and acknowledges the entries at the front. */
  async #store(batch: readonly Waiting[]): Promise<void> {
    const { store, router } = this.#options;
    const entries = batch.map(({ entry }) => entry);
    // Again for each attempt: clients that subscribed during an outage get the entries too.
    const destinations = entries.map((entry) => router.destinationsOf(entry));
    const appended = await store.append(entries, destinations, router.numbers);
    if (this.#isStopped) return;
    if ('unusable' in appended) {
      await router.mend(appended.unusable);
      return;
    }
    router.announce(entries, appended, destinations);
    const stored = this.#waiting.splice(0, batch.length);
    for (const [index, { entry, done }] of stored.entries()) {
      if (this.#refused.size > 0) this.#accepted(entry);
      done(true, appended.numbers[index] ?? 0);
    }
  }

  /** Nothing newer goes before what the store has lost, and nobody waits for that. */
  #restore(lost: readonly NewEntry[]): void {
    const done = () => undefined;
    const sinceMs = Number.POSITIVE_INFINITY;
    this.#waiting.unshift(...lost.map((entry) => ({ entry, done, sinceMs })));
  }

  /** Stores entries that cannot be stored together, and refuses those that cannot be stored at all. */
  async #oneByOne(batch: readonly Waiting[]): Promise<void> {
    const together = new Set(batch);
    for (let [first] = this.#waiting; first && together.has(first); [first] = this.#waiting) {
      try {
        await this.#store([first]);
        this.#succeeded();
      } catch (error) {
        if (this.#isStopped) return;
        if (!isDataError(error)) {
          await this.#untilRetry(error);
          return;
        }
        this.#refuse(first, error);
      }
    }
  }

  /** Refuses an entry, and all that wait behind it of the same device: their sender sends them again, in order. */
  #refuse({ entry: first }: Waiting, err: unknown): void {
    const { log, onRefused, sendLive } = this.#options;
    const subject = subjectOf(first);
    if (!this.#refused.has(subject))
      log.error({ err, subject }, 'the store refuses an entry of the history');
    for (const waiting of this.#waiting.filter(({ entry }) => subjectOf(entry) === subject)) {
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      this.#refused.set(subject, waiting.entry);
      if (isAlarm(waiting.entry)) sendLive(waiting.entry, waiting.sentTo ?? new Set());
      waiting.done(false, 0);
    }
    onRefused([...this.#refused.values()]);
  }

  #accepted(entry: NewEntry): void {
    if (this.#refused.delete(subjectOf(entry)))
      this.#options.onRefused([...this.#refused.values()]);
  }

  #succeeded(): void {
    this.#refusedSinceMs = undefined;
    if (!this.#hasFailed) return;
    this.#hasFailed = false;
    this.#options.onOutage(undefined);
  }

  async #untilRetry(error: unknown): Promise<void> {
    this.#failed(error);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, RETRY_AFTER_MS);
      this.#wakeRetry = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** One log line per outage, however often the write is tried; others report a store that does not answer. */
  #failed(error: unknown): void {
    if (isUnanswered(error)) return;
    const { log, onOutage } = this.#options;
    this.#refusedSinceMs ??= performance.now();
    if (isPassing(error) && performance.now() - this.#refusedSinceMs < PASSING_MS) return;
    if (!this.#hasFailed) log.error({ err: error }, 'failed to append to the history, retrying');
    this.#hasFailed = true;
    onOutage(failedWrite(error));
  }
}

/** The device of an alarm, or the topic of anything else. */
function subjectOf(entry: NewEntry): string {
  return isAlarm(entry) ? entry.context.device.id : entry.topic;
}
