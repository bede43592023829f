import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { numbered, numberIn } from './running-delivery.js';
import { many, RETRY_MS, range, Store, settle } from './writer-store.js';

const MIB = 1024 * 1024;

let store: Store;
beforeEach(() => {
  vi.useFakeTimers();
  store = new Store();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a log writer', () => {
  it('appends items that arrive during a write as the next batches, of at most 250', async () => {
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

  it('appends at most 1 MiB at a time, and a larger item alone', async () => {
    store.hold();
    store.append(numbered(0, 'a'), ...many(1, 8, 300_000), numbered(8, 'a', 0, 2 * MIB));
    store.append(numbered(9, 'a'));
    store.release();
    await settle();
    expect(store.batches).toEqual([[0], [1, 2, 3], [4, 5, 6], [7], [8], [9]]);
    expect(store.bytes.filter((bytes) => bytes > MIB)).toEqual([2 * MIB]);
  });

  it('answers only when an item is stored and announced', async () => {
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

  it('retries a batch in order while the store fails, and reports one outage', async () => {
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

  it('stores a batch for those who subscribed while it could not be stored', async () => {
    store.wanting = [{ key: 'early' }];
    store.fault = () => new Error('OOM command not allowed');
    store.append(numbered(0, 'a'));
    await settle();
    store.wanting = [{ key: 'early' }, { key: 'late' }];
    store.fault = () => undefined;
    await vi.advanceTimersByTimeAsync(RETRY_MS);
    expect(store.announcedTo).toEqual([['early', 'late']]);
  });

  it.each([
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

  it('holds back only the topic whose first item the store cannot accept', async () => {
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

  it('lists what was held back while it waits for an answer', async () => {
    store.fault = () => new Error('WRONGTYPE');
    store.append(...many(1, 3));
    await settle();
    store.fault = () => undefined;
    store.hold();
    await vi.advanceTimersByTimeAsync(RETRY_MS);
    expect(store.batches.at(-1)).toEqual([1]);
    expect([...store.writer.unstored()].map(({ item }) => numberIn(item))).toEqual([1, 2]);
    store.release();
    await settle();
    expect([...store.writer.unstored()]).toEqual([]);
  });

  it('answers false for unstored items when it stops, and accepts no more', async () => {
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

  it('answers false for items that are held back when it stops', async () => {
    store.fault = (numbers) =>
      numbers.includes(1) ? new Error('WRONGTYPE Operation against a key') : undefined;
    store.append(...many(0, 3));
    await settle();
    store.writer.stop();
    await vi.advanceTimersByTimeAsync(10 * RETRY_MS);
    expect(store.answers).toEqual(['0 true', '1 false', '2 false']);
  });
});
