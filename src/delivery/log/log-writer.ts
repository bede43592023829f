import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { FaultReport } from '../../domain/faults/faults.js';
import type {
  Appended,
  BatchStore,
  Destination,
  DestinationsOf,
  Fed,
  FrozenBatch,
} from './batch.js';
import { itemOf, type LogName, randomTag, sentOf } from './log-entry.js';
import type { NewMessage } from './log-item.js';
import { failedWrite, isDataError, isPassing, isUnanswered, lastLeft } from './reply-code.js';
import { addInOrder, subjectOf, WaitingItems } from './waiting-items.js';

const RETRY_AFTER_MS = 250;
/** A temporary refusal, as during a failover, counts as an outage only after this time. */
const PASSING_MS = 1_000;

export interface LogWriterOptions<Item extends NewMessage, To extends Destination> {
  readonly log: LogName;
  readonly store: BatchStore<Item>;
  readonly deliveries: Fed<To>;
  /** Called with the newest number left when the store has lost later entries. Returns those still in memory. */
  readonly onWentBack: (last: number) => readonly Item[];
  /** Called with the reason when the store takes nothing, and with undefined once it does again. */
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
  /** Whether the store had it and lost it: nothing newer of its device goes first. */
  readonly isRestored: boolean;
  isStored: boolean;
}

/**
 * Appends, then announces: the only way into a log.
 *
 * Items that arrive while a batch is being stored form the next batch: the store forces each write
 * to disk, which takes as long for a hundred alarms as for one. Any error of the store is an outage:
 * the writer keeps the batch, retries it in order, and acknowledges none of it. A key that cannot be
 * written (somebody has overwritten it) holds back only the items of its device.
 */
export class LogWriter<Item extends NewMessage, To extends Destination = Destination> {
  readonly #options: LogWriterOptions<Item, To>;
  readonly #waiting = new WaitingItems<Pending<Item>>();
  /** The batch being written. */
  #batch: readonly Pending<Item>[] = [];
  #isWriting = false;
  #isStopped = false;
  #hasFailed = false;
  /** Since when the store has refused the batch for temporary reasons. */
  #refusedSinceMs: number | undefined;
  #writtenAtMs = 0;
  #wakeRetry: (() => void) | undefined;
  /** By subject, in order: the store cannot take the first. */
  readonly #heldBack = new Map<string, Pending<Item>[]>();
  #heldBackTimer: NodeJS.Timeout | undefined;
  #isRetryDue = false;
  #isCheckDue = false;
  /** The subjects already reported in the gateway's log. */
  readonly #logged = new Set<string>();

  constructor(options: LogWriterOptions<Item, To>) {
    this.#options = options;
  }

  /**
   * Appends an item.
   *
   * @param done called once the item is stored and announced, in the order of the log; with false if
   *   the writer stops first
   */
  append(item: Item, done: (isStored: boolean) => void): void {
    if (this.#isStopped) {
      done(false);
      return;
    }
    const sinceMs = performance.now();
    this.#add({ item, done, sinceMs, isRestored: false, isStored: false });
  }

  /** Checks the store's newest entry now, as every batch does, so that lost entries do not wait for the next item. */
  check(): void {
    this.#isCheckDue = true;
    if (!this.#isWriting) void this.#write();
  }

  /** Items that wait for the store or its answer; one that is held back may come twice. */
  *unstored(): Generator<Unstored<Item>> {
    for (const pending of this.#batch) if (!pending.isStored) yield pending;
    yield* this.#waiting;
    for (const items of this.#heldBack.values()) yield* items;
  }

  /** How long the current write has waited for the store's answer, in milliseconds. */
  get unansweredMs(): number {
    return this.#isWriting ? performance.now() - this.#writtenAtMs : 0;
  }

  /** Gives up the items that are not stored; none of them was acknowledged. */
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

  /** Writes batch after batch until none is left. */
  async #write(): Promise<void> {
    this.#isWriting = true;
    while (this.#waiting.size > 0 || this.#isRetryDue || this.#isCheckDue) {
      this.#writtenAtMs = performance.now();
      if (this.#isRetryDue) await this.#retryHeldBack();
      this.#batch = this.#withoutHeldBack(this.#waiting.takeBatch());
      if (this.#batch.length > 0 || this.#isCheckDue) await this.#store(this.#batch);
    }
    this.#batch = [];
    this.#isWriting = false;
  }

  /** Retries until the batch is stored or the writer is stopped. */
  async #store(batch: readonly Pending<Item>[]): Promise<void> {
    const items = batch.map(({ item }) => item);
    const { log, store, deliveries, onWentBack } = this.#options;
    let identity = { id: randomUUID(), tag: randomTag() };
    const destinationsOf: DestinationsOf<To> = (message) => deliveries.destinationsOf(log, message);
    this.#isCheckDue = false;
    while (!this.#isStopped) {
      try {
        const after = deliveries.lastAnnounced(log);
        // Again for each attempt: clients that subscribed during an outage get the items too.
        const frozen = await store.freeze(items, destinationsOf, { ...identity, after });
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
        const last = lastLeft(error);
        if (last !== undefined) {
          await this.#storeAgain(onWentBack(last));
          // Other entries may have had its numbers before.
          identity = { id: randomUUID(), tag: randomTag() };
          const left = this.#withoutHeldBack(batch);
          if (left.length === batch.length) continue;
          if (left.length > 0) await this.#store(left);
          return;
        }
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

  /**
   * Stores lost items again, before anything newer of their devices.
   *
   * It does not store their packet identifiers: the clients may have released them since.
   */
  async #storeAgain(lost: readonly Item[]): Promise<void> {
    const items = new WaitingItems<Pending<Item>>();
    // Nobody waits for these items, and they have already been sent live.
    const common = { done: () => undefined, sinceMs: Number.POSITIVE_INFINITY };
    for (const item of lost) {
      const again = { ...item, received: undefined };
      items.addBehind({ ...common, item: again, isRestored: true, isStored: false });
    }
    while (items.size > 0 && !this.#isStopped) await this.#store(items.takeBatch());
  }

  /** Stores the items of a batch that the store can take, and holds back the rest. */
  async #storeSingly(batch: readonly Pending<Item>[], error: unknown): Promise<void> {
    const [first, ...others] = batch;
    if (first === undefined) return;
    if (others.length === 0) this.#holdBack(first, error);
    else
      for (const pending of batch)
        if (this.#withoutHeldBack([pending]).length > 0) await this.#store([pending]);
  }

  /** Leaves out items that must wait for an earlier one with the same subject. */
  #withoutHeldBack(batch: readonly Pending<Item>[]): readonly Pending<Item>[] {
    if (this.#heldBack.size === 0) return batch;
    return batch.filter((pending) => {
      const heldBack = this.#heldBack.get(subjectOf(pending.item));
      if (heldBack !== undefined) addInOrder(heldBack, pending);
      return heldBack === undefined;
    });
  }

  #holdBack(pending: Pending<Item>, err: unknown): void {
    const { log, logger } = this.#options;
    const subject = subjectOf(pending.item);
    const heldBack = this.#heldBack.get(subject) ?? [];
    addInOrder(heldBack, pending);
    this.#heldBack.set(subject, heldBack);
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

  /** Stores the items held back, before anything newer of their subjects. */
  async #retryHeldBack(): Promise<void> {
    this.#isRetryDue = false;
    for (const [subject, items] of [...this.#heldBack]) {
      this.#heldBack.delete(subject);
      this.#batch = items;
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

  /** One log line per outage, however often the write is retried; others report a store that does not answer. */
  #failed(error: unknown): void {
    if (isUnanswered(error)) return;
    const { log, logger, onOutage } = this.#options;
    this.#refusedSinceMs ??= performance.now();
    if (isPassing(error) && performance.now() - this.#refusedSinceMs < PASSING_MS) return;
    if (!this.#hasFailed)
      logger.error({ err: error, log }, 'failed to append to the log, retrying');
    this.#hasFailed = true;
    onOutage(failedWrite(error));
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
