import { z } from 'zod';
import {
  bytesOfMessage,
  LOG_NAMES,
  type LogEntry,
  type LogName,
  sequenceOf,
  type Tail,
} from '../delivery/log/log-entry.js';
import {
  type Account,
  type Accounts,
  type Backlog,
  type Bounded,
  DROP_REASONS,
  type MessageRange,
  type QueueBounds,
  type QueuePage,
  type QueueStore,
  type Settlement,
} from '../delivery/queues/queue-store.js';
import type { AlarmLog } from './alarms/alarm-log.js';
import { AlarmPages } from './alarms/alarm-pages.js';
import type { Keys } from './keys.js';
import { type Packable, packRows, Script } from './scripts.js';
import type { Store } from './store.js';
import { idOf, ValuePages } from './value-pages.js';

const settleItems = new Script('settle-items', z.array(z.number()));
const bounded = z.tuple([z.number(), z.number(), z.number(), z.number(), z.number()]);
const expireItems = new Script('expire-items', z.union([bounded, z.tuple([])]));
const readAccounts = new Script('read-accounts', z.array(z.array(z.coerce.number())));

const findOldestQueued = new Script('oldest-queued', z.string());

/** Redis serves nobody else while a script runs: a few milliseconds for this many. */
const TAKEN_AT_ONCE = 500;

/** The fields of an account: for each log, what was accepted and what became of it. */
const FIGURES = ['accepted', 'delivered', 'expired', 'dropped', ...DROP_REASONS] as const;
export const ACCOUNT_FIELDS: readonly string[] = ['alarms', 'messages'].flatMap((log) =>
  FIGURES.map((figure) => `${log}.${figure}`),
);

/** The queues of durable consumers in Redis: a list of alarms and a stream of messages for each. */
export class QueueStoreRedis implements QueueStore {
  readonly #store: Store;
  readonly #reader: Store;
  readonly #keys: Keys;
  readonly #alarms: AlarmPages;
  readonly #values: ValuePages;
  /** The prefixes of destinations, queues and streams, as scripts take them. */
  readonly #prefixes: readonly string[];
  readonly #names: string;
  /** Where scripts note what became of alarms. */
  readonly #proofs: readonly string[];
  readonly #now: () => number;

  /**
   * @param reader waits for a store that is away
   * @param now the machine's clock
   */
  constructor(
    { store, reader }: { readonly store: Store; readonly reader: Store },
    keys: Keys,
    alarms: Pick<AlarmLog, 'entriesOf'>,
    now: () => number,
  ) {
    this.#store = store;
    this.#reader = reader;
    this.#keys = keys;
    this.#alarms = new AlarmPages(reader, keys, alarms);
    this.#values = new ValuePages(reader, keys);
    this.#prefixes = [keys.sessionPrefix, keys.queuePrefix, keys.valuesPrefix];
    this.#names = keys.sessions;
    this.#proofs = [keys.proofPrefix, keys.destinationNumbers];
    this.#now = now;
  }

  page(
    log: LogName,
    destination: string,
    after: number,
    count: number,
    tail?: Tail,
  ): Promise<QueuePage> {
    return log === 'alarms'
      ? this.#alarms.page(destination, after, count, tail)
      : this.#values.page(destination, after, count);
  }

  pickAlarms(items: readonly number[]): Promise<LogEntry[]> {
    return this.#alarms.pick(items);
  }

  async settle(settlements: readonly Settlement[]): Promise<(Backlog | undefined)[]> {
    const rows = settlements.map(({ destination, log, outcome, items }): Packable[] => {
      const row: Packable[] = [destination, log, outcome];
      for (const entry of items) {
        if (log === 'alarms') row.push(String(entry.item));
        else row.push(idOf(entry.item), bytesOfMessage(entry));
      }
      return row;
    });
    const args = [...this.#prefixes, packRows(rows), ...this.#proofs, String(this.#now())];
    const lengths = await this.#store.run(settleItems, [this.#names], args);
    return settlements.map((_, index) => {
      const [length = -1, size = -1] = lengths.slice(2 * index, 2 * index + 2);
      return length < 0 ? undefined : { alarms: length, messages: length, messageBytes: size };
    });
  }

  async keepBounds(
    destination: string,
    { oldestMs, maxMessages, maxMessageBytes }: QueueBounds,
    { after, upTo }: MessageRange,
  ): Promise<Bounded | undefined> {
    const args = [
      ...this.#prefixes,
      destination,
      oldestMs,
      TAKEN_AT_ONCE,
      Math.floor(maxMessages),
      Math.floor(maxMessageBytes),
      after === 0 ? '-' : `(${idOf(after)}`,
      upTo,
      ...this.#proofs,
      String(this.#now()),
    ];
    const reply = await this.#store.run(expireItems, [this.#keys.history], args);
    if (reply.length === 0) return undefined;
    const [taken, lost, alarms, messages, messageBytes] = reply;
    const backlog = { alarms, messages, messageBytes };
    return { backlog, lost, hasMore: taken === TAKEN_AT_ONCE };
  }

  async accounts(destinations: readonly string[]): Promise<(Accounts | undefined)[]> {
    const args = [...this.#prefixes, ACCOUNT_FIELDS.length, ...ACCOUNT_FIELDS, ...destinations];
    // This is also read at a start, when a failover may not be over on every connection.
    const accounts = await this.#reader.run(readAccounts, [this.#names], args);
    return accounts.map(accountsOf);
  }

  async oldestReceivedAtMs(
    destination: string,
    logs: readonly LogName[] = LOG_NAMES,
  ): Promise<number | undefined> {
    const pages = await Promise.all(logs.map((log) => this.page(log, destination, 0, 1)));
    const times = pages.flatMap(({ entries }) => entries.map(({ receivedAtMs }) => receivedAtMs));
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** The number of the first alarm in any queue; infinite when all are empty. */
  async oldestQueued(): Promise<number> {
    const { sessions, queuePrefix } = this.#keys;
    const item = await this.#store.run(findOldestQueued, [sessions], [queuePrefix]);
    return item === '' ? Number.POSITIVE_INFINITY : sequenceOf(Number(item));
  }
}

/** Reads the result of read-accounts.lua; undefined for a destination that is gone or of another type. */
function accountsOf(values: readonly number[]): Accounts | undefined {
  const queued = values.slice(2 * FIGURES.length);
  const [alarms = -1, messages = -1] = queued;
  if (alarms < 0 || messages < 0) return undefined;
  return {
    alarms: accountOf(values.slice(0, FIGURES.length), alarms),
    messages: accountOf(values.slice(FIGURES.length, 2 * FIGURES.length), messages),
  };
}

function accountOf(values: readonly number[], queued: number): Account {
  const [
    accepted = 0,
    delivered = 0,
    expired = 0,
    dropped = 0,
    refused = 0,
    lost = 0,
    forbidden = 0,
    tooLarge = 0,
  ] = values;
  const reasons = { refused, lost, forbidden, 'too-large': tooLarge };
  return { accepted, delivered, queued, expired, dropped, reasons };
}
