import type { Logger } from 'pino';
import type { LogName } from '../log/log-entry.js';
import { isUnanswered } from '../log/reply-code.js';
import type { Backlog, Outcome, QueuedItem, QueueStore } from './queue-store.js';

/** An acknowledged item is settled within 50 ms (docs/contract.md, 4.2): those of so long are one write. */
const SETTLE_AFTER_MS = 10;
const RETRY_AFTER_MS = 250;
/** Redis serves nobody else while a script runs: some milliseconds for this many. */
const MAX_ITEMS = 1_000;

/** A durable consumer whose items are settled. */
export interface Settled {
  readonly key: string;
  /** Called when the store has settled items; without a backlog when the destination is gone. */
  settled(log: LogName, items: readonly QueuedItem[], backlog: Backlog | undefined): void;
}

interface Row {
  readonly consumer: Settled;
  readonly log: LogName;
  readonly outcome: Outcome;
  readonly items: QueuedItem[];
}

/**
 * Settles items of all durable consumers, together with what is acknowledged meanwhile.
 *
 * Until the store has taken it a write is repeated: the script settles an item once.
 */
export class Settler {
  readonly #store: Pick<QueueStore, 'settle'>;
  readonly #log: Logger;
  #rows = new Map<string, Row>();
  #timer: NodeJS.Timeout | undefined;
  #settling: Promise<void> | undefined;
  #hasFailed = false;
  #isStopped = false;

  constructor(store: Pick<QueueStore, 'settle'>, log: Logger) {
    this.#store = store;
    this.#log = log;
  }

  add(consumer: Settled, log: LogName, outcome: Outcome, item: QueuedItem): void {
    const name = `${log} ${outcome} ${consumer.key}`;
    const row = this.#rows.get(name);
    if (row?.consumer === consumer) row.items.push(item);
    else this.#rows.set(name, { consumer, log, outcome, items: [item] });
    this.#settleLater(SETTLE_AFTER_MS);
  }

  /** Resolves once all that was added is settled, or the store did not take it. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#settling;
    this.#settling ??= this.#settle().finally(() => {
      this.#settling = undefined;
      if (this.#rows.size > 0) this.#settleLater(SETTLE_AFTER_MS);
    });
    await this.#settling;
  }

  async stop(): Promise<void> {
    await this.flush();
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #settleLater(afterMs: number): void {
    if (this.#isStopped || this.#settling !== undefined) return;
    this.#timer ??= setTimeout(() => void this.flush(), afterMs);
  }

  async #settle(): Promise<void> {
    while (this.#rows.size > 0) {
      const rows = [...this.#rows.values()].flatMap(partsOf);
      this.#rows = new Map();
      try {
        await this.#write(rows);
        this.#hasFailed = false;
      } catch (error) {
        for (const row of rows) this.#putBack(row);
        this.#failed(error);
        return;
      }
    }
  }

  async #write(rows: Row[]): Promise<void> {
    while (rows.length > 0) {
      let count = 0;
      const first = rows.findIndex(({ items }) => {
        count += items.length;
        return count > MAX_ITEMS;
      });
      const part = rows.slice(0, first < 0 ? rows.length : Math.max(1, first));
      const backlogs = await this.#store.settle(
        part.map(({ consumer, ...settlement }) => ({ ...settlement, destination: consumer.key })),
      );
      rows.splice(0, part.length);
      for (const [index, { consumer, log, items }] of part.entries()) {
        consumer.settled(log, items, backlogs[index]);
      }
    }
  }

  #putBack(row: Row): void {
    const name = `${row.log} ${row.outcome} ${row.consumer.key}`;
    const later = this.#rows.get(name);
    if (later?.consumer === row.consumer) later.items.unshift(...row.items);
    else this.#rows.set(name, row);
  }

  /** One log line for an outage; StoreMonitor reports a store that does not answer. */
  #failed(err: unknown): void {
    if (!this.#hasFailed && !isUnanswered(err)) {
      this.#log.warn({ err }, 'failed to settle acknowledged messages, they may be repeated');
    }
    this.#hasFailed = true;
    clearTimeout(this.#timer);
    this.#timer = this.#isStopped ? undefined : setTimeout(() => void this.flush(), RETRY_AFTER_MS);
  }
}

/** The row in parts that one call takes. */
function partsOf(row: Row): Row[] {
  const parts: Row[] = [];
  for (let at = 0; at < row.items.length; at += MAX_ITEMS) {
    parts.push({ ...row, items: row.items.slice(at, at + MAX_ITEMS) });
  }
  return parts;
}
