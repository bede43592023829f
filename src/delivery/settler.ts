/** Takes acknowledged entries off the queues in the store, those of all destinations in shared writes. */
import type { Logger } from 'pino';
import { oneAtATime } from '../releasers.js';
import type { Outcome, QueueStore } from './queue.js';
import { isUnanswered } from './reply-code.js';

/** One write settles the entries of this time. The limit for an entry is 50 ms (contract 4.2). */
const SETTLE_AFTER_MS = 20;
const RETRY_AFTER_MS = 250;
/** Redis serves nobody else while a script runs: a few milliseconds for this many. */
const MAX_ENTRIES = 1_000;

/** A queue in the store from which entries are taken off. */
export interface SettledQueue {
  /** The name of the destination in the store. */
  readonly key: string;
  /** Called when the store has settled entries, with how many wait; undefined if the destination is gone. */
  settled(sequences: readonly number[], queued: number | undefined): void;
}

interface Part {
  readonly queue: SettledQueue;
  readonly outcome: Outcome;
  readonly sequences: number[];
}

export interface SettlerOptions {
  readonly store: Pick<QueueStore, 'settle'>;
  /** Writes a destination's lost record again. Returns whether the destination exists. */
  readonly mend: (key: string) => Promise<boolean>;
  readonly log: Logger;
}

/** It repeats a write until the store has taken it. This is safe: the script settles each entry once. */
export class Settler {
  readonly #options: SettlerOptions;
  #waiting = new Map<SettledQueue, Map<Outcome, number[]>>();
  #timer: NodeJS.Timeout | undefined;
  readonly #settleNow = oneAtATime(() => this.#settle());
  #hasFailed = false;
  #isStopped = false;

  constructor(options: SettlerOptions) {
    this.#options = options;
  }

  add(queue: SettledQueue, outcome: Outcome, ...sequences: readonly number[]): void {
    const outcomes = this.#waiting.get(queue) ?? new Map<Outcome, number[]>();
    const known = outcomes.get(outcome);
    if (known === undefined) {
      outcomes.set(outcome, [...sequences]);
      this.#waiting.set(queue, outcomes);
    } else known.push(...sequences);
    this.#settleLater(this.#hasFailed ? RETRY_AFTER_MS : SETTLE_AFTER_MS);
  }

  /** Resolves once everything added before is settled, or the store has failed to take it. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#settleNow();
  }

  async stop(): Promise<void> {
    await this.flush();
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #settleLater(afterMs: number): void {
    if (this.#timer !== undefined || this.#isStopped) return;
    this.#timer = setTimeout(() => void this.flush(), afterMs);
  }

  /** Settles what waits now; later entries wait for the next write. */
  async #settle(): Promise<void> {
    const parts = [...this.#waiting].flatMap(([queue, outcomes]) =>
      [...outcomes].flatMap(([outcome, sequences]) => partsOf(queue, outcome, sequences)),
    );
    this.#waiting = new Map();
    try {
      while (parts.length > 0) await this.#write(parts);
      this.#hasFailed = false;
    } catch (error) {
      this.#failed(error);
      for (const { queue, outcome, sequences } of parts) this.add(queue, outcome, ...sequences);
    }
  }

  /** Settles and removes as many parts as fit into one call. */
  async #write(parts: Part[]): Promise<void> {
    let count = 0;
    const end = parts.findIndex(({ sequences }) => {
      count += sequences.length;
      return count > MAX_ENTRIES;
    });
    const settled = parts.slice(0, end < 0 ? parts.length : end);
    const lengths = await this.#options.store.settle(
      settled.map(({ queue: { key: destination }, outcome, sequences }) => {
        return { destination, outcome, sequences };
      }),
    );
    for (const [index, part] of settled.entries()) {
      const { queue, outcome, sequences } = part;
      const queued = lengths[index];
      if (queued === undefined && (await this.#options.mend(queue.key)))
        this.add(queue, outcome, ...sequences);
      else queue.settled(sequences, queued);
      parts.shift();
    }
  }

  /** One log line per outage; others report a store that does not answer. */
  #failed(err: unknown): void {
    if (!this.#hasFailed && !isUnanswered(err)) {
      const { log } = this.#options;
      log.warn({ err }, 'failed to settle acknowledged messages, they may be repeated');
    }
    this.#hasFailed = true;
  }
}

/** The parts that each fit into one call. */
function partsOf(queue: SettledQueue, outcome: Outcome, sequences: readonly number[]): Part[] {
  const parts: Part[] = [];
  for (let at = 0; at < sequences.length; at += MAX_ENTRIES) {
    parts.push({ queue, outcome, sequences: sequences.slice(at, at + MAX_ENTRIES) });
  }
  return parts;
}
