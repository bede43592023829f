/** The queues of durable consumers in Redis: for each a list of the numbers of entries, and an account. */
import { z } from 'zod';
import {
  type Account,
  DROP_REASONS,
  type QueuePage,
  type QueueStore,
  type Settlement,
} from '../delivery/queue.js';
import type { HistoryLog } from './history/history-log.js';
import { Script } from './scripts.js';
import type { Store } from './store.js';
import { unlessOfAnotherType } from './store.js';

const readQueue = new Script('read-queue', z.tuple([z.number(), z.array(z.string())]));
const settle = new Script('settle', z.array(z.number()));
const expireQueue = new Script(
  'expire-queue',
  z.union([z.tuple([z.number(), z.number(), z.number()]), z.tuple([])]),
);
const readAccounts = new Script('accounts', z.array(z.array(z.coerce.number())));
const oldestQueued = new Script('oldest-queued', z.string());

/** Redis serves nobody else while a script runs: a few milliseconds for this many. */
const TAKEN_AT_ONCE = 500;

/** The figures of an account that add up to `accepted`, with the length of the queue. */
export const SUM_FIGURES = ['delivered', 'expired', 'dropped'] as const;
/** The fields of an account. */
export const FIGURES = ['accepted', ...SUM_FIGURES, ...DROP_REASONS] as const;

export class QueueStoreRedis implements QueueStore {
  readonly #store: Store;
  readonly #reader: Store;
  readonly #history: Pick<HistoryLog, 'entriesAt'>;
  readonly #now: () => number;

  /**
   * @param reader waits for a store that is away
   * @param now the machine's clock
   */
  constructor(
    store: Store,
    reader: Store,
    history: Pick<HistoryLog, 'entriesAt'>,
    now: () => number,
  ) {
    this.#store = store;
    this.#reader = reader;
    this.#history = history;
    this.#now = now;
  }

  async page(name: string, after: number, count: number): Promise<QueuePage> {
    const reading = this.#reader.run(readQueue, { name, after, count });
    const [isEnd, texts] = (await unlessOfAnotherType(reading)) ?? [1, []];
    // Values pushed by somebody else are removed once they reach the head.
    const numbers = texts.map(Number).filter((number) => Number.isSafeInteger(number));
    const reached = numbers.at(-1) ?? 0;
    return { ...(await this.#history.entriesAt(numbers)), reached, isEnd: isEnd === 1 };
  }

  async settle(settlements: readonly Settlement[]): Promise<(number | undefined)[]> {
    const rows = settlements.map(({ destination, outcome, sequences }) => {
      return [destination, outcome, sequences.map(String)];
    });
    const lengths = await this.#store.run(settle, { rows, atMs: String(this.#now()) });
    return lengths.map((length) => (length < 0 ? undefined : length));
  }

  async expire(name: string, beforeMs: number) {
    let lost = 0;
    for (;;) {
      const args = { name, beforeMs, count: TAKEN_AT_ONCE, atMs: String(this.#now()) };
      const [taken, lostOfThese = 0, queued = 0] = await this.#store.run(expireQueue, args);
      if (taken === undefined) return undefined;
      lost += lostOfThese;
      if (taken < TAKEN_AT_ONCE) return { lost, queued };
    }
  }

  async accounts(names: readonly string[]): Promise<(Account | undefined)[]> {
    // This is also read at a start, when a failover may not be over on every connection.
    const accounts = await this.#reader.run(readAccounts, { names, fields: FIGURES });
    return accounts.map(accountOf);
  }

  async oldestReceivedAtMs(name: string): Promise<number | undefined> {
    const { entries } = await this.page(name, 0, 1);
    return entries[0]?.receivedAtMs;
  }

  /** The number of the first entry in any queue; infinite when all are empty. */
  async oldestQueued(): Promise<number> {
    const number = await this.#store.run(oldestQueued, {});
    return number === '' ? Number.POSITIVE_INFINITY : Number(number);
  }
}

/** Undefined for a destination that is gone. */
function accountOf(values: readonly number[]): Account | undefined {
  const queued = values[FIGURES.length];
  if (queued === undefined) return undefined;
  const of = (name: (typeof FIGURES)[number]) => values[FIGURES.indexOf(name)] ?? 0;
  const [refused, lost, forbidden] = [of('refused'), of('lost'), of('forbidden')];
  return {
    accepted: of('accepted'),
    delivered: of('delivered'),
    queued,
    expired: of('expired'),
    dropped: of('dropped'),
    reasons: { refused, lost, forbidden, 'too-large': of('too-large') },
  };
}
