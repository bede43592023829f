import type { Logger } from 'pino';
import { GatewayError } from '../errors.js';
import type { Announced, Appended, LogName, NewMessage } from './log-entry.js';

/** More would hold the store, and everybody else, up for too long at a time. */
const MAX_BATCH_ITEMS = 250;
const MAX_BATCH_BYTES = 1024 * 1024;
const RETRY_AFTER_MS = 250;

export interface LogWriterOptions<Item extends NewMessage> {
  readonly log: LogName;
  /** A batch is one atomic write, durable when the promise resolves. */
  readonly store: { append(items: readonly Item[]): Promise<Appended[]> };
  readonly deliveries: { announce(entries: readonly Announced[]): Promise<void> };
  /** Told why the store takes nothing for now; undefined once it takes something again. */
  readonly onOutage: (reason: string | undefined) => void;
  readonly logger: Logger;
}

/** An item on its way to the store. */
export interface Unstored<Item> {
  readonly item: Item;
  /** By `performance.now`. */
  readonly sinceMs: number;
}

interface Pending<Item> extends Unstored<Item> {
  readonly done: (isStored: boolean) => void;
  isStored: boolean;
}

/**
 * Appends, then announces: the one way into a log.
 *
 * What arrives while a batch is on its way to the store is the next batch: the store forces each of its
 * writes to the disk, which takes as long for a hundred alarms as for one. Any error of the store is an
 * outage: the batch is kept and retried in its order, and nothing of it is acknowledged. Only what is
 * wrong with one item's data holds up that item alone.
 */
export class LogWriter<Item extends NewMessage> {
  readonly #options: LogWriterOptions<Item>;
  #waiting: Pending<Item>[] = [];
  /** What is being written. */
  #batch: readonly Pending<Item>[] = [];
  #isWriting = false;
  #isStopped = false;
  #hasFailed = false;
  #writtenAtMs = 0;
  #wakeRetry: (() => void) | undefined;
  /** Items that the store did not take though it took others. */
  readonly #aside: Pending<Item>[] = [];
  #asideTimer: NodeJS.Timeout | undefined;

  constructor(options: LogWriterOptions<Item>) {
    this.#options = options;
  }

  /**
   * Appends an item.
   *
   * @param done called once the item is stored and announced, in the order of the log; with false when
   *   the writer has been stopped before that
   */
  append(item: Item, done: (isStored: boolean) => void): void {
    if (this.#isStopped) {
      done(false);
      return;
    }
    this.#waiting.push({ item, done, sinceMs: performance.now(), isStored: false });
    if (!this.#isWriting) void this.#write();
  }

  /** What waits for the store, or for its answer. */
  *unstored(): Generator<Unstored<Item>> {
    for (const pending of this.#batch) if (!pending.isStored) yield pending;
    yield* this.#waiting;
    yield* this.#aside;
  }

  /** For how long the store has owed the answer to the present write, in milliseconds. */
  get unansweredMs(): number {
    return this.#isWriting ? performance.now() - this.#writtenAtMs : 0;
  }

  /** Gives up what the store has not taken; nothing of it was acknowledged. */
  stop(): void {
    this.#isStopped = true;
    this.#wakeRetry?.();
    clearTimeout(this.#asideTimer);
    for (const { done } of [...this.#waiting.splice(0), ...this.#aside.splice(0)]) done(false);
  }

  /** One batch after the other, for as long as there is any. */
  async #write(): Promise<void> {
    this.#isWriting = true;
    while (this.#waiting.length > 0) {
      this.#writtenAtMs = performance.now();
      this.#batch = this.#takeBatch();
      await this.#store(this.#batch);
    }
    this.#batch = [];
    this.#isWriting = false;
  }

  #takeBatch(): Pending<Item>[] {
    let bytes = 0;
    const end = this.#waiting.findIndex(({ item }, index) => {
      bytes += item.payload.length;
      return index >= MAX_BATCH_ITEMS || (index > 0 && bytes > MAX_BATCH_BYTES);
    });
    if (end >= 0) return this.#waiting.splice(0, end);
    const all = this.#waiting;
    this.#waiting = [];
    return all;
  }

  /** Tries until the store has taken the batch, or the writer is stopped. */
  async #store(batch: readonly Pending<Item>[]): Promise<void> {
    while (!this.#isStopped) {
      try {
        await this.#appendAndAnnounce(batch);
        return;
      } catch (error) {
        this.#failed(error);
        if (isAboutData(error)) {
          await this.#storeSingly(batch);
          return;
        }
        await this.#untilRetry();
      }
    }
    for (const { done } of batch) done(false);
  }

  /** An item that the store cannot take must not hold up the others. */
  async #storeSingly(batch: readonly Pending<Item>[]): Promise<void> {
    const [first] = batch;
    if (batch.length > 1) for (const pending of batch) await this.#store([pending]);
    else if (first !== undefined) this.#putAside(first);
  }

  /** The item is tried again and again, beside the others. */
  #putAside(pending: Pending<Item>): void {
    this.#aside.push(pending);
    this.#asideTimer ??= setTimeout(() => {
      this.#asideTimer = undefined;
      this.#waiting.push(...this.#aside.splice(0));
      if (!this.#isWriting) void this.#write();
    }, RETRY_AFTER_MS);
  }

  async #appendAndAnnounce(batch: readonly Pending<Item>[]): Promise<void> {
    const items = batch.map(({ item }) => item);
    const appended = await this.#options.store.append(items);
    if (this.#aside.length === 0) this.#succeeded();
    await this.#announce(items, appended);
    for (const pending of batch) {
      pending.isStored = true;
      pending.done(true);
    }
  }

  async #announce(items: readonly Item[], appended: readonly Appended[]): Promise<void> {
    const { deliveries, log } = this.#options;
    await deliveries.announce(
      items.map((source, index) => {
        const { topic, payload, receivedAtMs, locationId, groupId } = source;
        const { sequence = 0, isNew = false } = appended[index] ?? {};
        const entry = { log, sequence, topic, payload, receivedAtMs, locationId, groupId, source };
        return { entry, isNew };
      }),
    );
  }

  #succeeded(): void {
    if (!this.#hasFailed) return;
    this.#hasFailed = false;
    this.#options.onOutage(undefined);
  }

  /** One log line for an outage, however often the write is retried. */
  #failed(error: unknown): void {
    const { log, logger, onOutage } = this.#options;
    if (!this.#hasFailed)
      logger.error({ err: error, log }, 'failed to append to the log, retrying');
    this.#hasFailed = true;
    onOutage(reasonOf(error));
  }

  #untilRetry(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, RETRY_AFTER_MS);
      this.#wakeRetry = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** A key of another type, or values that a script cannot handle: other items may go through. */
function isAboutData(error: unknown): boolean {
  return error instanceof Error && /^(WRONGTYPE|ERR) /.test(error.message);
}

/** The code of a reply error of Redis (`OOM`, `NOPERM`), which its message begins with. */
function reasonOf(error: unknown): string {
  if (error instanceof GatewayError) return error.detail;
  const [code = ''] = error instanceof Error ? error.message.split(' ') : [];
  return /^[A-Z]+$/.test(code)
    ? `The store refuses to write (${code}).`
    : 'The store cannot be written to.';
}
