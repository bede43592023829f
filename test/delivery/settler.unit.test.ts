import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Settlement } from '../../src/delivery/queues/queue-store.js';
import { Settler } from '../../src/delivery/queues/settler.js';
import { silent } from './running-delivery.js';

const BACKLOG = { alarms: 0, messages: 0, messageBytes: 0 };

/** A store and a queue, whose settled items are noted. */
class World {
  readonly settled: number[] = [];
  readonly mended: string[] = [];
  isAway = false;
  /** Whether the store has the record of the consumer. */
  isThere = true;
  isKnown = true;
  onSettle: () => Promise<void> = () => Promise.resolve();
  readonly queue = {
    key: 'token:1/nurse',
    log: 'alarms' as const,
    settled: (items: readonly { readonly item: number }[]) => {
      this.settled.push(...items.map(({ item }) => item));
    },
  };
  readonly settler = new Settler({
    store: { settle: (settlements) => this.#settle(settlements) },
    mend: (key) => {
      this.mended.push(key);
      this.isThere = true;
      return Promise.resolve(this.isKnown);
    },
    log: silent,
  });

  add(...items: readonly number[]): void {
    for (const item of items) {
      this.settler.add(this.queue, 'delivered', { item, payload: { length: 0 } });
    }
  }

  async #settle(settlements: readonly Settlement[]) {
    await this.onSettle();
    if (this.isAway) throw new Error('the store is away');
    return settlements.map(() => (this.isThere ? BACKLOG : undefined));
  }
}

let world: World;
beforeEach(() => {
  vi.useFakeTimers();
  world = new World();
});
afterEach(() => {
  vi.useRealTimers();
});

it('an acknowledged item is settled within 50 ms, together with later acknowledgements', async () => {
  world.add(1);
  await vi.advanceTimersByTimeAsync(10);
  world.add(2, 3);
  expect(world.settled).toEqual([]);
  await vi.advanceTimersByTimeAsync(40);
  expect(world.settled).toEqual([1, 2, 3]);
});

it('an item is settled again until the store accepts it, before later ones', async () => {
  world.isAway = true;
  world.add(1, 2);
  await vi.advanceTimersByTimeAsync(1_000);
  world.add(3);
  world.isAway = false;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(world.settled).toEqual([1, 2, 3]);
});

it('a flush ends even if acknowledgements keep coming', async () => {
  let next = 0;
  world.onSettle = () => {
    world.add(++next);
    return Promise.resolve();
  };
  world.add(0);
  await world.settler.flush();
  expect(world.settled).toContain(0);
});

it('an item of a destination that the store has lost is settled once the destination is mended', async () => {
  world.isThere = false;
  world.add(1);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(world.mended).toEqual(['token:1/nurse']);
  expect(world.settled).toEqual([1]);
});

it('an item of an ended session is dropped', async () => {
  world.isThere = false;
  world.isKnown = false;
  world.add(1);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(world.settled).toEqual([1]);
});
