/** The writer against a store whose answers the test decides: batches, order, attempts, and what is stored again. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Appended, NewEntry } from '../../src/delivery/new-entry.js';
import { replyCode } from '../../src/delivery/reply-code.js';
import { Writer } from '../../src/delivery/writer.js';
import { faultWords } from '../../src/domain/fault.js';
import { numbered, numberIn, silent } from './in-memory.js';

const RETRY_MS = 250;

class World {
  readonly batches: number[][] = [];
  readonly announced: number[] = [];
  /** The destinations of each announced entry. */
  readonly announcedTo: string[][] = [];
  /** The destinations of the entries written now. */
  wanting: string[] = [];
  readonly outages: (string | undefined)[] = [];
  readonly refused: number[][] = [];
  readonly answers: string[] = [];
  /** What the store has lost and memory still has. */
  lost: NewEntry[] = [];
  /** The error of every batch; undefined accepts the batch. */
  fault: (numbers: readonly number[]) => Error | undefined = () => undefined;
  readonly writer: Writer;
  #isOpen = true;
  #waiting: (() => void)[] = [];
  #last = 0;

  constructor() {
    this.writer = new Writer({
      store: { append: (entries) => this.#append(entries) },
      router: {
        numbers: { known: 0, above: 0 },
        destinationsOf: () => this.wanting,
        announce: (entries, _, destinations) => {
          this.announced.push(...entries.map(numberIn));
          this.announcedTo.push(...destinations.map((names) => [...names]));
        },
        wentBack: () => this.lost.splice(0),
        mend: () => Promise.resolve(),
      },
      onOutage: (fault) => this.outages.push(fault && faultWords(fault, 'en').message),
      onRefused: (entries) => this.refused.push(entries.map(numberIn)),
      sendLive: () => undefined,
      log: silent,
    });
  }

  append(...entries: readonly NewEntry[]): void {
    for (const entry of entries) {
      const n = numberIn(entry);
      this.writer.append(entry, (isStored) => this.answers.push(`${n} ${isStored}`));
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

  async #append(entries: readonly NewEntry[]): Promise<Appended> {
    const numbers = entries.map(numberIn);
    this.batches.push(numbers);
    if (!this.#isOpen) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    const fault = this.fault(numbers);
    if (fault !== undefined) throw fault;
    return { numbers: entries.map(() => ++this.#last), backlogs: new Map() };
  }
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

const many = (from: number, to: number) => range(from, to).map((n) => numbered(n, 'a'));
const settle = () => vi.advanceTimersByTimeAsync(0);

let world: World;
beforeEach(() => {
  vi.useFakeTimers();
  world = new World();
});
afterEach(() => {
  vi.useRealTimers();
});

test('entries that arrive during a write are the next batches, of at most 250', async () => {
  world.hold();
  world.append(...many(0, 1));
  await settle();
  world.append(...many(1, 1_201));
  await settle();
  expect(world.batches).toEqual([[0]]);
  expect(world.writer.unansweredMs).toBe(0);
  await vi.advanceTimersByTimeAsync(100);
  expect(world.writer.unansweredMs).toBe(100);
  expect([world.answers, world.announced]).toEqual([[], []]);
  expect([...world.writer.unstored()]).toHaveLength(1_201);
  world.release();
  await settle();
  expect(world.batches.map(({ length }) => length)).toEqual([1, 250, 250, 250, 250, 200]);
  expect(world.announced).toEqual(range(0, 1_201));
  expect(world.answers).toEqual(range(0, 1_201).map((n) => `${n} true`));
});

test.each([
  ["OOM command not allowed when used memory > 'maxmemory'", 'OOM): its memory is full.'],
  [
    'ERR Error running script (call to f_0a): @user_script:9: @user_script: 9: -MISCONF Errors',
    'MISCONF).',
  ],
  ['MISCONF Errors writing to the AOF file: No space script: 0a, on @user_script:1.', 'MISCONF).'],
])(
  'while the store says %s, a batch is tried again in order, for those who want it by then',
  async (message, words) => {
    world.wanting = ['early'];
    world.fault = () => new Error(message);
    world.append(...many(0, 3));
    await vi.advanceTimersByTimeAsync(2 * RETRY_MS);
    world.append(...many(3, 5));
    expect(world.answers).toEqual([]);
    world.wanting = ['early', 'late'];
    world.fault = () => undefined;
    await vi.advanceTimersByTimeAsync(RETRY_MS);
    expect(world.announced).toEqual(range(0, 5));
    expect(world.announcedTo[0]).toEqual(['early', 'late']);
    expect(world.answers).toEqual(range(0, 5).map((n) => `${n} true`));
    expect(world.outages.at(-1)).toBeUndefined();
    expect(new Set(world.outages.slice(0, -1))).toEqual(
      new Set([`The store refuses to write (${words}`]),
    );
  },
);

test('an entry that fails by itself is refused, and named until one of its own is stored', async () => {
  world.hold();
  world.append(numbered(9, 'z'));
  await settle();
  world.fault = (numbers) =>
    numbers.includes(1) ? new Error('WRONGTYPE Operation against a key') : undefined;
  world.append(numbered(0, 'a'), numbered(1, 'b'), numbered(2, 'a'));
  world.release();
  await settle();
  expect(world.announced).toEqual([9, 0, 2]);
  expect(world.answers).toEqual(['9 true', '0 true', '1 false', '2 true']);
  expect(world.refused).toEqual([[1]]);
  expect(world.outages).toEqual([]);
  world.append(numbered(3, 'a'));
  await settle();
  expect(world.refused).toEqual([[1]]);
  world.append(numbered(4, 'b'));
  await settle();
  expect(world.refused).toEqual([[1], []]);
});

test('what waits behind a refused entry of its device is refused too, or the order would turn round', async () => {
  world.hold();
  world.append(numbered(9, 'z'));
  await settle();
  // The store is mended as soon as it has refused one.
  let isBroken = true;
  world.fault = (numbers) => {
    const fails = isBroken && numbers.includes(1);
    if (fails && numbers.length === 1) isBroken = false;
    return fails ? new Error('WRONGTYPE Operation against a key') : undefined;
  };
  world.append(numbered(0, 'a'), numbered(1, 'b'), numbered(2, 'a'), numbered(3, 'b'));
  world.release();
  await settle();
  expect(world.announced).toEqual([9, 0, 2]);
  expect(world.answers).toEqual(['9 true', '0 true', '1 false', '3 false', '2 true']);
});

test('an outage ends with the first entry that is stored, though others are refused', async () => {
  world.fault = () => new Error("OOM command not allowed when used memory > 'maxmemory'");
  world.append(numbered(0, 'a'), numbered(1, 'b'));
  await settle();
  expect(world.outages.at(-1)).toBeDefined();
  world.fault = (numbers) =>
    numbers.includes(1) ? new Error('WRONGTYPE Operation against a key') : undefined;
  await vi.advanceTimersByTimeAsync(RETRY_MS);
  expect(world.answers).toEqual(['0 true', '1 false']);
  expect(world.outages.at(-1)).toBeUndefined();
});

test('a writer that stops answers false for what is not stored, and takes no more', async () => {
  world.fault = () => new Error('READONLY');
  world.append(...many(0, 3));
  await settle();
  world.append(...many(3, 4));
  world.writer.stop();
  await vi.advanceTimersByTimeAsync(10 * RETRY_MS);
  world.append(...many(4, 5));
  expect(world.answers.toSorted()).toEqual(range(0, 5).map((n) => `${n} false`));
  expect(world.announced).toEqual([]);
});

/** The store's answer when it has lost what came after this number. */
const wentBack = (last: number) => new Error(`WENTBACK ${last}`);

test('guarantee 3: what the store has lost is stored before new entries, and acknowledged to nobody', async () => {
  world.lost = many(1, 3);
  world.fault = () => (world.lost.length > 0 ? wentBack(7) : undefined);
  world.hold();
  world.append(...many(3, 4));
  await settle();
  world.append(...many(4, 6));
  world.release();
  await settle();
  expect(world.batches).toEqual([[3], [1, 2, 3, 4, 5]]);
  expect(world.announced).toEqual([1, 2, 3, 4, 5]);
  expect(world.answers).toEqual(['3 true', '4 true', '5 true']);
  expect(world.outages).toEqual([]);
});

test('what the store has lost is noticed without a new entry', async () => {
  world.lost = many(1, 3);
  world.fault = () => (world.lost.length > 0 ? wentBack(0) : undefined);
  world.writer.check();
  await settle();
  expect(world.announced).toEqual([1, 2]);
  expect(world.batches).toEqual([[], [1, 2]]);
});

const RUNNING = 'ERR Error running script (call to f_0a1b):';

/** The messages of a server of each version. */
const MESSAGES: readonly (readonly [string | undefined, string, string])[] = [
  ['OOM', '7', "OOM command not allowed when used memory > 'maxmemory'."],
  ['OOM', '7', 'OOM command not allowed when used memory. script: 0a, on @user_script:1.'],
  ['OOM', '6.2', `${RUNNING} @user_script:17: @user_script: 17: -OOM command not allowed`],
  ['OOM', '6.2', '@user_script: 2: -OOM command not allowed when used memory'],
  ['MISCONF', '7', 'MISCONF Errors writing to the AOF file: No space script: 0a.'],
  ['MISCONF', '6.2', `${RUNNING} @user_script:1: @user_script: 1: -MISCONF Errors writing`],
  ['READONLY', '6.2', `${RUNNING} @user_script:1: @user_script: 1: -READONLY You can't write`],
  ['WRONGTYPE', '7', 'WRONGTYPE Operation against a key script: 0a, on @user_script:1.'],
  ['WRONGTYPE', '6.2', `${RUNNING} @user_script:1: WRONGTYPE Operation against a key`],
  ['ERR', '7', 'ERR user_script:1: Script attempted to access global script: 0a.'],
  ['ERR', '6.2', `${RUNNING} @user_script:1: user_script:1: attempt to index a nil value`],
  ['ERR', '6.2', `${RUNNING} @user_script:1: @user_script: 1: Unknown Redis command called`],
  [undefined, 'no', 'Connection is closed.'],
  [undefined, 'no', 'connect ECONNREFUSED 127.0.0.1:6379'],
];

test.each(MESSAGES)('finds the code %s in what Redis %s says: %s', (code, _, message) => {
  expect(replyCode(new Error(message))).toBe(code);
});
