import type { Logger } from 'pino';
import type { LogName } from '../log/log-entry.js';
import { isUnanswered } from '../log/reply-code.js';
import type { Backlog, Outcome, QueuedItem, QueueStore } from './queue-store.js';

/** One write settles the items of this time. The limit for an item is 50 ms (docs/reference/contract.md, 4.2). */
const SETTLE_AFTER_MS = 20;
const RETRY_AFTER_MS = 250;
/** Redis serves nobody else while a script runs: a few milliseconds for this many. */
const MAX_ITEMS = 1_000;

/** A queue of a durable consumer, as the settler needs it. */
export interface Settled {
  /** The name of the destination in the store. */
  readonly key: string;
  readonly log: LogName;
  /** Called when the store has settled items; without a backlog if the destination is gone. */
  settled(items: readonly QueuedItem[], backlog: Backlog | undefined): void;
}

interface Row {
  readonly queue: Settled;
  readonly outcome: Outcome;
  readonly items: QueuedItem[];
}

export interface SettlerOptions {
  readonly store: Pick<QueueStore, 'settle'>;
  /** Writes a destination's lost record again. Returns whether the destination exists. */
  readonly mend: (key: string) => Promise<boolean>;
  readonly log: Logger;
}

/**
 * Settles the items of all durable consumers in shared writes.
 *
 * It repeats a write until the store has taken it. This is safe: the script settles each item once.
 */
export class Settler {
  readonly #options: SettlerOptions;
  #rows = new Map<Settled, Row[]>();
  /** The row added to last: a connection acknowledges many at a time. */
  #last: Row | undefined;
  #timer: NodeJS.Timeout | undefined;
  #settling: Promise<void> | undefined;
  #hasFailed = false;
  #isStopped = false;

  constructor(options: SettlerOptions) {
    this.#options = options;
  }

  add(queue: Settled, outcome: Outcome, item: QueuedItem): void {
    const last = this.#last;
    if (last?.queue === queue && last.outcome === outcome) {
      last.items.push(item);
      return;
    }
    const row = this.#rowOf(queue, outcome);
    row.items.push(item);
    this.#last = row;
    this.#settleLater(SETTLE_AFTER_MS);
  }

  /** Resolves once everything added before is settled, or the store has failed to take it. */
  async flush(): Promise<void> {
    await this.#settling;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#settling ??= this.#settle().finally(() => {
      this.#settling = undefined;
      if (this.#rows.size > 0)
        this.#settleLater(this.#hasFailed ? RETRY_AFTER_MS : SETTLE_AFTER_MS);
    });
    await this.#settling;
  }

  async stop(): Promise<void> {
    await this.flush();
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #rowOf(queue: Settled, outcome: Outcome): Row {
    const rows = this.#rows.get(queue) ?? [];
    this.#rows.set(queue, rows);
    const known = rows.find((row) => row.outcome === outcome);
    if (known !== undefined) return known;
    const row: Row = { queue, outcome, items: [] };
    rows.push(row);
    return row;
  }

  #settleLater(afterMs: number): void {
    if (this.#isStopped || this.#settling !== undefined) return;
    this.#timer ??= setTimeout(() => void this.flush(), afterMs);
  }

  /** Settles the items here now; later ones wait for the next write. */
  async #settle(): Promise<void> {
    const parts = [...this.#rows.values()].flat().flatMap(partsOf);
    this.#rows = new Map();
    this.#last = undefined;
    try {
      while (parts.length > 0) await this.#write(parts);
      this.#hasFailed = false;
    } catch (error) {
      for (const { queue, outcome, items } of parts) {
        this.#rowOf(queue, outcome).items.unshift(...items);
      }
      this.#failed(error);
    }
  }

  /** Settles and removes as many parts as fit into one call. */
  async #write(parts: Row[]): Promise<void> {
    let count = 0;
    const end = parts.findIndex(({ items }) => {
      count += items.length;
      return count > MAX_ITEMS;
    });
    const settled = parts.slice(0, end < 0 ? parts.length : Math.max(1, end));
    const backlogs = await this.#options.store.settle(
      settled.map(({ queue: { key: destination, log }, outcome, items }) => {
        return { destination, log, outcome, items };
      }),
    );
    for (const [index, row] of settled.entries()) {
      const backlog = backlogs[index];
      if (backlog === undefined) await this.#unsettled(row);
      else row.queue.settled(row.items, backlog);
      parts.shift();
    }
  }

  /** Retries items later if their destination's record was lost, or its keys overwritten. */
  async #unsettled({ queue, outcome, items }: Row): Promise<void> {
    if (await this.#options.mend(queue.key)) {
      this.#rowOf(queue, outcome).items.unshift(...items);
    } else queue.settled(items, undefined);
  }

  /** One log line per outage; StoreMonitor reports a store that does not answer. */
  #failed(err: unknown): void {
    if (!this.#hasFailed && !isUnanswered(err)) {
      const { log } = this.#options;
      log.warn({ err }, 'failed to settle acknowledged messages, they may be repeated');
    }
    this.#hasFailed = true;
  }
}

/** Splits a row into parts that fit into one call. */
function partsOf(row: Row): Row[] {
  const parts: Row[] = [];
  for (let at = 0; at < row.items.length; at += MAX_ITEMS) {
    parts.push({ ...row, items: row.items.slice(at, at + MAX_ITEMS) });
  }
  return parts;
}
