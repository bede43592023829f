import { z } from 'zod';
import { type LogEntry, sequenceOf, type Tail } from '../../delivery/log/log-entry.js';
import type { QueuePage } from '../../delivery/queues/queue-store.js';
import { unlessOfAnotherType } from '../failures.js';
import type { Keys } from '../keys.js';
import { PageSize } from '../page-size.js';
import { Script } from '../scripts.js';
import type { Store } from '../store.js';
import { readStream } from '../streams.js';
import type { AlarmLog } from './alarm-log.js';

const readQueue = new Script('read-queue', z.tuple([z.number()]).rest(z.string()));

/** Reads the queues of alarms, a page at a time: the items, and their records from the history. */
export class AlarmPages {
  readonly #reader: Store;
  readonly #keys: Keys;
  readonly #alarms: Pick<AlarmLog, 'entriesOf'>;
  readonly #size = new PageSize();

  constructor(reader: Store, keys: Keys, alarms: Pick<AlarmLog, 'entriesOf'>) {
    this.#reader = reader;
    this.#keys = keys;
    this.#alarms = alarms;
  }

  /**
   * @param tail the newest alarms, which need no read
   * @throws Error with the reply code `WENTBACK` when the store has lost some of these (`lastLeft`)
   */
  async page(
    destination: string,
    after: number,
    count: number,
    tail: Tail | undefined,
  ): Promise<QueuePage> {
    const { history } = this.#keys;
    const keys = [this.#keys.queue(destination), this.#keys.logSequence('alarms'), history];
    const args = [String(after), this.#size.fitting(count), tail?.last ?? 0];
    const reading = this.#reader.run(readQueue, keys, args);
    const [isEnd, ...texts] = (await unlessOfAnotherType(reading)) ?? [1];
    // Values pushed by somebody else are removed once they reach the head.
    const items = texts.map(Number).filter(Number.isSafeInteger);
    const known = new Map<number, LogEntry>();
    for (const item of items) {
      const inMemory = tail?.entryAfter(sequenceOf(item) - 1);
      if (inMemory?.item === item) known.set(item, inMemory);
    }
    const read = await this.pick(items.filter((item) => !known.has(item)));
    for (const entry of read) known.set(entry.item, entry);
    this.#size.noteRead(read);
    const entries = items.flatMap((item) => known.get(item) ?? []);
    const missing = items.filter((item) => !known.has(item));
    return { entries, missing, isEnd: isEnd === 1 };
  }

  /** The alarms of these items, except those that are gone or unreadable. */
  async pick(items: readonly number[]): Promise<LogEntry[]> {
    const read = await Promise.all(runsOf(items).map((run) => this.#read(run)));
    return read.flat();
  }

  /** Reads alarms with consecutive numbers in one command. */
  async #read(run: readonly number[]): Promise<LogEntry[]> {
    const itemOfNumber = new Map(run.map((item) => [sequenceOf(item), item]));
    const [first = 0] = itemOfNumber.keys();
    const [from, to] = [`${first}-0`, `${first + run.length - 1}-0`];
    const rows = await readStream(this.#reader, this.#keys.history, from, to, run.length);
    return this.#alarms.entriesOf(rows, (sequence) => itemOfNumber.get(sequence) ?? 0);
  }
}

/** Splits the items where their numbers are not consecutive. */
function runsOf(items: readonly number[]): number[][] {
  const runs: number[][] = [];
  for (const item of items) {
    const run = runs.at(-1);
    const last = run?.at(-1);
    if (last !== undefined && sequenceOf(item) === sequenceOf(last) + 1) run?.push(item);
    else runs.push([item]);
  }
  return runs;
}
