import type { Logger } from 'pino';
import { type FaultReport, stopping } from '../../domain/faults.js';
import { GatewayError } from '../../errors.js';
import type { AlarmLogItem, Announced, Appended, LogName, NewMessage } from './log-entry.js';
import { isPassing, isUnanswered, refusedWrite, replyCode } from './reply-code.js';

/** A larger batch would hold up the store, and everybody else, for too long. */
const MAX_BATCH_ITEMS = 250;
const MAX_BATCH_BYTES = 1024 * 1024;
const RETRY_AFTER_MS = 250;
/** A refusal that passes, as during a failover, is an outage only after this time. */
const PASSING_MS = 1_000;

export interface LogWriterOptions<Item extends NewMessage> {
  readonly log: LogName;
  /** A batch is one atomic write, durable when the promise resolves. */
  readonly store: { append(items: readonly Item[]): Promise<Appended[]> };
  readonly deliveries: { announce(entries: readonly Announced[]): Promise<void> };
  /** Called with the reason while the store takes nothing, with undefined once it does again. */
  readonly onOutage: (fault: FaultReport | undefined) => void;
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
 * outage: the batch is kept and retried in order, and nothing of it is acknowledged. Only an error
 * about one item's data holds up that item alone.
 */
export class LogWriter<Item extends NewMessage> {
  readonly #options: LogWriterOptions<Item>;
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
  /** Items that the store did not take, though it took others; retried later. */
  readonly #postponed: Pending<Item>[] = [];
  #postponedTimer: NodeJS.Timeout | undefined;

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
    yield* this.#postponed;
  }

  /** How long the present write has waited for the store's answer, in milliseconds. */
  get unansweredMs(): number {
    return this.#isWriting ? performance.now() - this.#writtenAtMs : 0;
  }

  /** Gives up items that are not stored, none of which was acknowledged. */
  stop(): void {
    this.#isStopped = true;
    this.#wakeRetry?.();
    clearTimeout(this.#postponedTimer);
    for (const { done } of [...this.#waiting.takeAll(), ...this.#postponed.splice(0)]) done(false);
  }

  #add(pending: Pending<Item>): void {
    this.#waiting.add(pending);
    if (!this.#isWriting) void this.#write();
  }

  /** Writes one batch after the other until none is left. */
  async #write(): Promise<void> {
    this.#isWriting = true;
    while (this.#waiting.size > 0) {
      this.#writtenAtMs = performance.now();
      this.#batch = this.#waiting.takeBatch();
      await this.#store(this.#batch);
    }
    this.#batch = [];
    this.#isWriting = false;
  }

  /** Retries until the batch is stored or the writer is stopped. */
  async #store(batch: readonly Pending<Item>[]): Promise<void> {
    while (!this.#isStopped) {
      try {
        await this.#appendAndAnnounce(batch);
        return;
      } catch (error) {
        if (this.#isStopped) break;
        this.#failed(error);
        if (isDataError(error)) {
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
    else if (first !== undefined) this.#postpone(first);
  }

  /** Retries the item later, beside the others. */
  #postpone(pending: Pending<Item>): void {
    this.#postponed.push(pending);
    this.#postponedTimer ??= setTimeout(() => {
      this.#postponedTimer = undefined;
      for (const one of this.#postponed.splice(0)) this.#waiting.add(one);
      if (!this.#isWriting) void this.#write();
    }, RETRY_AFTER_MS);
  }

  async #appendAndAnnounce(batch: readonly Pending<Item>[]): Promise<void> {
    const items = batch.map(({ item }) => item);
    const appended = await this.#options.store.append(items);
    if (this.#postponed.length === 0) this.#succeeded();
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
        const { sequence = 0, isNew = false, entry: rendered } = appended[index] ?? {};
        if (rendered !== undefined) return { entry: { ...rendered, source }, isNew };
        const entry = { log, sequence, topic, payload, receivedAtMs, locationId, groupId, source };
        return { entry, isNew };
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
  if (error instanceof GatewayError) return stopping('store-unreachable', error.detail);
  const code = replyCode(error);
  return code === undefined
    ? stopping('store-unreachable', 'The store cannot be written to.')
    : refusedWrite(code);
}

/**
 * Items that wait to be stored, in the order in which they are.
 *
 * The first alarm of a device goes before those of devices that have more waiting, so that it passes a flood (as in
 * `FairTurns`). The alarms of one device stay in their order, and so do all other messages.
 */
export class WaitingItems<Waiting extends { readonly item: NewMessage }> {
  /** Items whose device had none waiting. */
  #firsts: Waiting[] = [];
  #others: Waiting[] = [];
  /** How many items of each device wait. */
  readonly #counts = new Map<string, number>();

  get size(): number {
    return this.#firsts.length + this.#others.length;
  }

  add(waiting: Waiting): void {
    const source = sourceOf(waiting.item);
    const count = source === undefined ? 1 : (this.#counts.get(source) ?? 0);
    if (source !== undefined) this.#counts.set(source, count + 1);
    (count === 0 ? this.#firsts : this.#others).push(waiting);
  }

  /** Removes and returns the items of the next batch. */
  takeBatch(): Waiting[] {
    const batch = takeUpTo(this.#firsts, MAX_BATCH_ITEMS, MAX_BATCH_BYTES);
    if (this.#firsts.length === 0) {
      const leftBytes = MAX_BATCH_BYTES - bytesOf(batch);
      for (const one of takeUpTo(this.#others, MAX_BATCH_ITEMS - batch.length, leftBytes)) {
        batch.push(one);
      }
    }
    if (this.size === 0) this.#counts.clear();
    else for (const { item } of batch) this.#left(item);
    return batch;
  }

  /** Removes and returns all items. */
  takeAll(): Waiting[] {
    this.#counts.clear();
    return [...this.#firsts.splice(0), ...this.#others.splice(0)];
  }

  *[Symbol.iterator](): Generator<Waiting> {
    yield* this.#firsts;
    yield* this.#others;
  }

  #left(item: NewMessage): void {
    const source = sourceOf(item);
    if (source === undefined) return;
    const count = this.#counts.get(source) ?? 0;
    if (count > 1) this.#counts.set(source, count - 1);
    else this.#counts.delete(source);
  }
}

/** Removes items from the front: at least one, where there is room for any. */
function takeUpTo<Waiting extends { readonly item: NewMessage }>(
  from: Waiting[],
  maxItems: number,
  maxBytes: number,
): Waiting[] {
  let bytes = 0;
  const end = from.findIndex(({ item }, index) => {
    bytes += item.payload.length;
    return index >= maxItems || (index > 0 && bytes > maxBytes);
  });
  return from.splice(0, end < 0 ? from.length : end);
}

function bytesOf(batch: readonly { readonly item: NewMessage }[]): number {
  return batch.reduce((bytes, { item }) => bytes + item.payload.length, 0);
}

/** The device of an alarm, or of a change of its state. */
function sourceOf(item: NewMessage | AlarmLogItem): string | undefined {
  if ('alarm' in item) return item.context.device.id;
  return 'stateChange' in item ? item.stateChange.deviceId : undefined;
}
