import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { numbered } from './running-delivery.js';
import { many, RETRY_MS, Store, settle } from './writer-store.js';

/** The store's answer when it has lost what came after this number. */
const wentBack = (last: number) => new Error(`WENTBACK ${last}`);

let store: Store;
beforeEach(() => {
  vi.useFakeTimers();
  store = new Store();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a log writer whose store has lost alarms', () => {
  it('guarantee 3: appends what the store has lost before new items', async () => {
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

  it('appends what the store has lost again when that is lost as well', async () => {
    store.lost = many(1, 3);
    const faults = [wentBack(7), wentBack(6)];
    store.fault = () => {
      const fault = faults.shift();
      if (faults.length === 0 && fault !== undefined) store.lost = many(0, 1);
      return fault;
    };
    store.append(numbered(3, 'a'));
    await settle();
    expect(store.wentBackTo).toEqual([7, 6]);
    expect(store.announced).toEqual([0, 1, 2, 3]);
  });

  it('holds back what the store has lost before newer items of its topic that are held back', async () => {
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

  it('appends a lost item without its packet identifier, which may have been released', async () => {
    const received = { session: 'device:bed/sensor', packetIdentifier: 5 };
    store.lost = [{ ...numbered(0, 'a'), received }];
    store.fault = () => (store.lost.length > 0 ? wentBack(0) : undefined);
    store.append({ ...numbered(1, 'a'), received });
    await settle();
    expect(store.received).toEqual([received, undefined, received]);
  });

  it('asks what the store has lost even without a new item', async () => {
    store.lost = many(1, 3);
    store.fault = () => (store.lost.length > 0 ? wentBack(0) : undefined);
    store.writer.check();
    await settle();
    expect(store.announced).toEqual([1, 2]);
    expect(store.batches).toEqual([[], [1, 2], []]);
  });
});
