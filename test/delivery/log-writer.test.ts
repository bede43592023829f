/**
 * The writer of a log against a store whose answers the test decides: batches, order, retries, and what it stores again
 * after the store has lost something.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Announced, Appended, Destination } from '../../src/delivery/log/batch.js';
import type { NewMessage } from '../../src/delivery/log/log-item.js';
import { LogWriter } from '../../src/delivery/log/log-writer.js';
import { replyCode } from '../../src/delivery/log/reply-code.js';
import { faultWords } from '../../src/domain/faults/faults.js';
import { batchesOf, numbered, numberIn, silent } from './running-delivery.js';

const RETRY_MS = 250;

/** A store whose answers the test decides. */
class Store {
  readonly batches: number[][] = [];
  readonly received: NewMessage['received'][] = [];
  readonly announced: number[] = [];
  /** The destinations of each announced item. */
  readonly announcedTo: string[][] = [];
  /** The destinations of the items written now. */
  wanting: readonly Destination[] = [];
  readonly outages: (string | undefined)[] = [];
  readonly heldBack: number[][] = [];
  /** The items that the store has lost and memory still has. */
  lost: NewMessage[] = [];
  readonly wentBackTo: number[] = [];
  readonly writer: LogWriter<NewMessage>;
  readonly answers: string[] = [];
  /** The error of every batch; undefined accepts the batch. */
  fault: (numbers: readonly number[]) => Error | undefined = () => undefined;
  #isOpen = true;
  #waiting: (() => void)[] = [];
  #last = 0;

  constructor() {
    this.writer = new LogWriter({
      log: 'messages' as const,
      logger: silent,
      store: batchesOf<NewMessage>((items) => this.#append(items)),
      deliveries: {
        destinationsOf: () => this.wanting,
        announce: (entries) => this.#announce(entries),
        noteBacklogs: () => undefined,
        mend: () => Promise.resolve(),
        lastAnnounced: () => 0,
      },
      onWentBack: (last) => {
        this.wentBackTo.push(last);
        return this.lost.splice(0);
      },
      onOutage: (fault) => this.outages.push(fault && faultWords(fault, 'en').message),
      onHeldBack: (items) => this.heldBack.push(items.map(numberIn)),
    });
  }

  append(...items: readonly NewMessage[]): void {
    for (const item of items) {
      const n = numberIn(item);
      this.writer.append(item, (isStored) => this.answers.push(`${n} ${isStored}`));
    }
  }

  /** Answers nothing from now on. */
  hold(): void {
    this.#isOpen = false;
  }

  release(): void {
    this.#isOpen = true;
    for (const go of this.#waiting.splice(0)) go();
  }

  async #append(items: readonly NewMessage[]): Promise<Appended[]> {
    const numbers = items.map(numberIn);
    this.batches.push(numbers);
    this.received.push(...items.map(({ received }) => received));
    if (!this.#isOpen) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    const fault = this.fault(numbers);
    if (fault !== undefined) throw fault;
    return items.map(() => ({ sequence: ++this.#last, isNew: true }));
  }

  #announce(entries: readonly Announced<Destination>[]): void {
    for (const { entry, destinations } of entries) {
      this.announced.push(numberIn(entry));
      this.announcedTo.push(destinations.map(({ key }) => key));
      expect(entry.sequence).toBe(this.announced.length);
    }
  }
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

const many = (from: number, to: number) => range(from, to).map((n) => numbered(n, 'a'));

const settle = () => vi.advanceTimersByTimeAsync(0);

let store: Store;
beforeEach(() => {
  vi.useFakeTimers();
  store = new Store();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a log writer', () => {
  test('appends items that arrive during a write as the next batches, of at most 250', async () => {
    store.hold();
    store.append(...many(0, 1_201));
    await settle();
    expect(store.batches).toEqual([[0]]);
    store.release();
    await settle();
    expect(store.batches.map(({ length }) => length)).toEqual([1, 250, 250, 250, 250, 200]);
    expect(store.announced).toEqual(range(0, 1_201));
    expect(store.answers).toEqual(range(0, 1_201).map((n) => `${n} true`));
  });

  test('answers only when an item is stored and announced', async () => {
    store.hold();
    store.append(...many(0, 2));
    await settle();
    expect([store.answers, store.announced]).toEqual([[], []]);
    expect(store.writer.unansweredMs).toBe(0);
    await vi.advanceTimersByTimeAsync(100);
    expect(store.writer.unansweredMs).toBe(100);
    store.release();
    await settle();
    expect(store.answers).toEqual(['0 true', '1 true']);
    expect(store.writer.unansweredMs).toBe(0);
  });

  test('retries a batch in order while the store fails, and reports one outage', async () => {
    store.fault = () => new Error('OOM command not allowed');
    store.append(...many(0, 3));
    await vi.advanceTimersByTimeAsync(2 * RETRY_MS);
    store.append(...many(3, 5));
    expect(store.answers).toEqual([]);
    store.fault = () => undefined;
    await vi.advanceTimersByTimeAsync(RETRY_MS);
    expect(store.announced).toEqual(range(0, 5));
    expect(store.answers).toEqual(range(0, 5).map((n) => `${n} true`));
    expect(store.outages.at(-1)).toBeUndefined();
    expect(new Set(store.outages.slice(0, -1))).toEqual(
      new Set(['The store refuses to write (OOM): its memory is full.']),
    );
  });

  test('stores a batch for those who subscribed while it could not be stored', async () => {
    store.wanting = [{ key: 'early' }];
    store.fault = () => new Error('OOM command not allowed');
    store.append(numbered(0, 'a'));
    await settle();
    store.wanting = [{ key: 'early' }, { key: 'late' }];
    store.fault = () => undefined;
    await vi.advanceTimersByTimeAsync(RETRY_MS);
    expect(store.announcedTo).toEqual([['early', 'late']]);
  });

  test.each([
    [
      '6.2',
      `ERR Error running script (call to f_0a): @user_script:9: @user_script: 9: -MISCONF Errors`,
    ],
    ['7', `MISCONF Errors writing to the AOF file: No space script: 0a, on @user_script:1.`],
  ])('keeps the order when a script of Redis %s finds the disk full', async (_, message) => {
    store.fault = () => new Error(message);
    store.append(...many(0, 3));
    await settle();
    store.fault = () => undefined;
    store.append(...many(3, 5));
    await vi.advanceTimersByTimeAsync(2 * RETRY_MS);
    expect(store.announced).toEqual(range(0, 5));
    expect(store.outages).toContain('The store refuses to write (MISCONF).');
  });

  test('holds back only the topic whose first item the store cannot accept', async () => {
    const ofTopic = (topic: string, ...numbers: number[]) => numbers.map((n) => numbered(n, topic));
    store.fault = (numbers) =>
      numbers.includes(1) ? new Error('WRONGTYPE Operation against a key') : undefined;
    store.append(...ofTopic('a', 0, 1, 2), ...ofTopic('b', 3), ...ofTopic('a', 4));
    await settle();
    store.append(...ofTopic('a', 5), ...ofTopic('b', 6));
    await settle();
    expect(store.announced).toEqual([0, 3, 6]);
    expect(store.heldBack.at(-1)).toEqual([1]);
    await vi.advanceTimersByTimeAsync(2 * RETRY_MS);
    expect(store.announced).toEqual([0, 3, 6]);
    store.append(...ofTopic('a', 7));
    store.fault = () => undefined;
    await vi.advanceTimersByTimeAsync(RETRY_MS);
    expect(store.announced).toEqual([0, 3, 6, 1, 2, 4, 5, 7]);
    expect(store.answers).toEqual(store.announced.map((n) => `${n} true`));
    expect(store.heldBack.at(-1)).toEqual([]);
    expect(store.outages).toEqual([]);
  });

  test('answers false for unstored items when it stops, and accepts no more', async () => {
    store.fault = () => new Error('READONLY');
    store.append(...many(0, 3));
    await settle();
    store.append(...many(3, 4));
    store.writer.stop();
    await vi.advanceTimersByTimeAsync(10 * RETRY_MS);
    store.append(...many(4, 5));
    expect(store.answers.toSorted()).toEqual(range(0, 5).map((n) => `${n} false`));
    expect(store.announced).toEqual([]);
  });

  test('answers false for items that are held back when it stops', async () => {
    store.fault = (numbers) =>
      numbers.includes(1) ? new Error('WRONGTYPE Operation against a key') : undefined;
    store.append(...many(0, 3));
    await settle();
    store.writer.stop();
    await vi.advanceTimersByTimeAsync(10 * RETRY_MS);
    expect(store.answers).toEqual(['0 true', '1 false', '2 false']);
  });
});

/** The store's answer when it has lost what came after this number. */
const wentBack = (last: number) => new Error(`WENTBACK ${last}`);

describe('a log writer whose store has lost alarms', () => {
  test('guarantee 3: appends what the store has lost before new items', async () => {
    store.lost = many(1, 3);
    store.fault = ([first]) => (first === 3 && store.lost.length > 0 ? wentBack(7) : undefined);
    store.append(...many(3, 6));
    await settle();
    expect(store.wentBackTo).toEqual([7]);
    expect(store.batches).toEqual([[3], [1, 2], [3], [4, 5]]);
    expect(store.announced).toEqual([1, 2, 3, 4, 5]);
    expect(store.answers).toEqual(['3 true', '4 true', '5 true']);
    expect(store.outages).toEqual([]);
  });

  test('holds back what the store has lost before newer items of its topic that are held back', async () => {
    store.fault = (numbers) => {
      if (numbers.some((n) => n < 3)) return new Error('WRONGTYPE Operation against a key');
      return store.lost.length > 0 ? wentBack(0) : undefined;
    };
    store.append(numbered(2, 'a'));
    await settle();
    expect(store.heldBack.at(-1)).toEqual([2]);
    store.lost = many(0, 2);
    store.append(numbered(3, 'b'), numbered(4, 'a'));
    await settle();
    expect(store.announced).toEqual([3]);
    store.fault = () => undefined;
    await vi.advanceTimersByTimeAsync(RETRY_MS);
    expect(store.announced).toEqual([3, 0, 1, 2, 4]);
    expect(store.answers).toEqual(['3 true', '2 true', '4 true']);
  });

  test('appends a lost item without its packet identifier, which may have been released', async () => {
    const received = { session: 'device:bed/sensor', packetIdentifier: 5 };
    store.lost = [{ ...numbered(0, 'a'), received }];
    store.fault = () => (store.lost.length > 0 ? wentBack(0) : undefined);
    store.append({ ...numbered(1, 'a'), received });
    await settle();
    expect(store.received).toEqual([received, undefined, received]);
  });

  test('asks what the store has lost even without a new item', async () => {
    store.lost = many(1, 3);
    store.fault = () => (store.lost.length > 0 ? wentBack(0) : undefined);
    store.writer.check();
    await settle();
    expect(store.announced).toEqual([1, 2]);
    expect(store.batches).toEqual([[], [1, 2], []]);
  });
});

const RUNNING = 'ERR Error running script (call to f_0a1b):';

/** The messages of a server of each version. */
const MESSAGES: readonly (readonly [string | undefined, string, string])[] = [
  ['OOM', '7', "OOM command not allowed when used memory > 'maxmemory'."],
  [
    'OOM',
    '7',
    "OOM command not allowed when used memory > 'maxmemory'. script: 0a, on @user_script:1.",
  ],
  ['OOM', '6.2', `${RUNNING} @user_script:17: @user_script: 17: -OOM command not allowed`],
  ['OOM', '6.2', '@user_script: 2: -OOM command not allowed when used memory'],
  [
    'MISCONF',
    '7',
    'MISCONF Errors writing to the AOF file: No space script: 0a, on @user_script:1.',
  ],
  ['MISCONF', '6.2', `${RUNNING} @user_script:1: @user_script: 1: -MISCONF Errors writing`],
  ['READONLY', '6.2', `${RUNNING} @user_script:1: @user_script: 1: -READONLY You can't write`],
  ['WRONGTYPE', '7', 'WRONGTYPE Operation against a key script: 0a, on @user_script:1.'],
  ['WRONGTYPE', '6.2', `${RUNNING} @user_script:1: WRONGTYPE Operation against a key`],
  [
    'ERR',
    '7',
    'ERR user_script:1: Script attempted to access global script: 0a, on @user_script:1.',
  ],
  ['ERR', '6.2', `${RUNNING} @user_script:1: user_script:1: attempt to index a nil value`],
  ['ERR', '6.2', `${RUNNING} @user_script:1: @user_script: 1: Unknown Redis command called`],
  [undefined, 'no', 'Connection is closed.'],
  [undefined, 'no', 'connect ECONNREFUSED 127.0.0.1:6379'],
];

test.each(MESSAGES)('finds the code %s in what Redis %s says: %s', (code, _, message) => {
  expect(replyCode(new Error(message))).toBe(code);
});
