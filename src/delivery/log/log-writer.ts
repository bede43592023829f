import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { type FaultReport, fault } from '../../domain/faults/faults.js';
import type { Backlog } from '../queues/queue-store.js';
import type { Appended, BatchStore, Destination, DestinationsOf, FrozenBatch } from './batch.js';
import { itemOf, type LogEntry, type LogName, randomTag, sentOf } from './log-entry.js';
import type { NewMessage } from './log-item.js';
import { isPassing, isUnanswered, refusedWrite, replyCode } from './reply-code.js';
import { subjectOf, WaitingItems } from './waiting-items.js';

const RETRY_AFTER_MS = 250;
/** A refusal that passes, as during a failover, is an outage only after this time. */
const PASSING_MS = 1_000;

/** An entry that is stored, and on the queues of these destinations. */
export interface Announced<To extends Destination> {
  readonly entry: LogEntry;
  /** False when it had been recorded before. */
  readonly isNew: boolean;
  readonly destinations: readonly To[];
}

/** The part that delivers what a writer has stored. */
export interface Fed<To extends Destination> {
  readonly destinationsOf: DestinationsOf<To>;
  announce(entries: readonly Announced<To>[]): void;
  noteBacklogs(backlogs: ReadonlyMap<string, Partial<Backlog>>): void;
  /** Makes destinations usable whose records the store has lost; those that have ended are forgotten. */
  mend(destinations: readonly string[]): Promise<void>;
}

export interface LogWriterOptions<Item extends NewMessage, To extends Destination> {
  readonly log: LogName;
  readonly store: BatchStore<Item>;
  readonly deliveries: Fed<To>;
  /** Called with the reason while the store takes nothing, with undefined once it does again. */
  readonly onOutage: (fault: FaultReport | undefined) => void;
  /** Called with the first item of each device, or topic, that the store cannot take. */
  readonly onHeldBack: (items: readonly Item[]) => void;
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
 * Items that arrive while a batch is being stored form the next batch: the store forces each write
 * to the disk, which takes as long for a hundred alarms as for one. Any error of the store is an
 * outage: the batch is kept and retried in order, and nothing of it is acknowledged. A key of the store
 * that cannot be written (somebody has overwritten it) holds back the items of its device, and no others.
 */
export class LogWriter<Item extends NewMessage, To extends Destination = Destination> {
  readonly #options: LogWriterOptions<Item, To>;
  readonly #waiting = new WaitingItems<Pending<Item>>();
  /** The batch that is being written. */
  #batch: readonly Pending<Item>[] = [];
  #isWriting = false;
  #isStopped = false;
  #hasFailed = false;
  /** Since when the store has refused the batch, for reasons that may pass. */
  #refusedSinceMs: number | undefined;
  #writtenAtMs = 0;
  #wakeRetry: (() => void) | undefined;
  /** By subject, in their order: the store cannot take the first. */
  readonly #heldBack = new Map<string, Pending<Item>[]>();
  #heldBackTimer: NodeJS.Timeout | undefined;
  #isRetryDue = false;
  /** The subjects of which the log tells. */
  readonly #logged = new Set<string>();

  constructor(options: LogWriterOptions<Item, To>) {
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
    this.#add({ item, done, sinceMs: performance.now(), isStored: false });
  }

  /**
   * Appends an item again that the store has lost. It was delivered live, so nobody waits for it.
   *
   * The client may have released the packet identifier since, so that is not stored again.
   */
  restore(lost: Item): void {
    if (this.#isStopped) return;
    const item: Item = { ...lost, received: undefined };
    const done = () => undefined;
    // A live copy of it is never due.
    this.#add({ item, done, sinceMs: Number.POSITIVE_INFINITY, isStored: false });
  }

  /** Items that wait for the store, or for its answer. */
  *unstored(): Generator<Unstored<Item>> {
    for (const pending of this.#batch) if (!pending.isStored) yield pending;
    yield* this.#waiting;
    for (const items of this.#heldBack.values()) yield* items;
  }

  /** How long the present write has waited for the store's answer, in milliseconds. */
  get unansweredMs(): number {
    return this.#isWriting ? performance.now() - this.#writtenAtMs : 0;
  }

  /** Gives up items that are not stored, none of which was acknowledged. */
  stop(): void {
    this.#isStopped = true;
    this.#wakeRetry?.();
    clearTimeout(this.#heldBackTimer);
    const heldBack = [...this.#heldBack.values()].flat();
    this.#heldBack.clear();
    for (const { done } of [...this.#waiting.takeAll(), ...heldBack]) done(false);
  }

  #add(pending: Pending<Item>): void {
    this.#waiting.add(pending);
    if (!this.#isWriting) void this.#write();
  }

  /** Writes one batch after the other until none is left. */
  async #write(): Promise<void> {
    this.#isWriting = true;
    while (this.#waiting.size > 0 || this.#isRetryDue) {
      this.#writtenAtMs = performance.now();
      if (this.#isRetryDue) await this.#retryHeldBack();
      this.#batch = this.#withoutHeldBack(this.#waiting.takeBatch());
      if (this.#batch.length > 0) await this.#store(this.#batch);
    }
    this.#batch = [];
    this.#isWriting = false;
  }

  /** Retries until the batch is stored or the writer is stopped. */
  async #store(batch: readonly Pending<Item>[]): Promise<void> {
    const items = batch.map(({ item }) => item);
    const { store, deliveries } = this.#options;
    const identity = { id: randomUUID(), tag: randomTag() };
    while (!this.#isStopped) {
      try {
        // Each time: who has subscribed while the store was away gets what is stored then.
        const frozen = await store.freeze(items, deliveries.destinationsOf, identity);
        const written = await frozen.write();
        if ('unusable' in written) {
          await deliveries.mend(written.unusable);
          continue;
        }
        this.#succeeded();
        this.#announce(items, written.appended, frozen.destinations, identity.tag);
        deliveries.noteBacklogs(written.backlogs);
        for (const pending of batch) {
          pending.isStored = true;
          pending.done(true);
        }
        return;
      } catch (error) {
        if (this.#isStopped) break;
        if (isDataError(error)) {
          await this.#storeSingly(batch, error);
          return;
        }
        this.#failed(error);
        await this.#untilRetry();
      }
    }
    for (const { done } of batch) done(false);
  }

  /** Stores what the store can take of a batch; the rest is held back. */
  async #storeSingly(batch: readonly Pending<Item>[], error: unknown): Promise<void> {
    const [first, ...others] = batch;
    if (first === undefined) return;
    if (others.length === 0) this.#holdBack(first, error);
    else
      for (const pending of batch)
        if (this.#withoutHeldBack([pending]).length > 0) await this.#store([pending]);
  }

  /** Leaves out items that must wait for one before them with the same subject. */
  #withoutHeldBack(batch: readonly Pending<Item>[]): readonly Pending<Item>[] {
    if (this.#heldBack.size === 0) return batch;
    return batch.filter((pending) => {
      const heldBack = this.#heldBack.get(subjectOf(pending.item));
      heldBack?.push(pending);
      return heldBack === undefined;
    });
  }

  #holdBack(pending: Pending<Item>, err: unknown): void {
    const { log, logger } = this.#options;
    const subject = subjectOf(pending.item);
    this.#heldBack.set(subject, [pending]);
    if (!this.#logged.has(subject))
      logger.error({ err, log, subject }, 'failed to append to the log, retrying');
    this.#logged.add(subject);
    this.#reportHeldBack();
    this.#heldBackTimer ??= setTimeout(() => {
      this.#heldBackTimer = undefined;
      this.#isRetryDue = true;
      if (!this.#isWriting) void this.#write();
    }, RETRY_AFTER_MS);
  }

  /** Stores what was held back, before anything newer of its subject. */
  async #retryHeldBack(): Promise<void> {
    this.#isRetryDue = false;
    for (const [subject, items] of [...this.#heldBack]) {
      this.#heldBack.delete(subject);
      for (const pending of items)
        if (this.#withoutHeldBack([pending]).length > 0) await this.#store([pending]);
      if (!this.#heldBack.has(subject)) this.#logged.delete(subject);
    }
    this.#reportHeldBack();
  }

  #reportHeldBack(): void {
    const firsts = [...this.#heldBack.values()].flatMap(([first]) => first?.item ?? []);
    this.#options.onHeldBack(firsts);
  }

  #announce(
    items: readonly Item[],
    appended: readonly Appended[],
    destinations: FrozenBatch<To>['destinations'],
    tag: number,
  ): void {
    const { deliveries, log } = this.#options;
    deliveries.announce(
      items.map((source, index) => {
        const { sequence = 0, isNew = false, entry: rendered } = appended[index] ?? {};
        const item = itemOf(sequence, tag);
        const entry = { log, ...sentOf(source), ...rendered, sequence, item, source };
        return { entry, isNew, destinations: destinations[index] ?? [] };
      }),
    );
  }

  #succeeded(): void {
    this.#refusedSinceMs = undefined;
    if (!this.#hasFailed) return;
    this.#hasFailed = false;
    this.#options.onOutage(undefined);
  }

  /** One log line for an outage, however often the write is retried; others report a store that does not answer. */
  #failed(error: unknown): void {
    if (isUnanswered(error)) return;
    const { log, logger, onOutage } = this.#options;
    this.#refusedSinceMs ??= performance.now();
    if (isPassing(error) && performance.now() - this.#refusedSinceMs < PASSING_MS) return;
    if (!this.#hasFailed)
      logger.error({ err: error, log }, 'failed to append to the log, retrying');
    this.#hasFailed = true;
    onOutage(faultOf(error));
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
function isDataError(error: unknown): boolean {
  return ['WRONGTYPE', 'ERR'].includes(replyCode(error) ?? '');
}

function faultOf(error: unknown): FaultReport {
  const code = replyCode(error);
  return code === undefined ? fault('storeCannotBeWritten') : refusedWrite(code);
}
