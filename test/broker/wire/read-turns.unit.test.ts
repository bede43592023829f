import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { TurnPlace, TurnTaker } from '../../../src/broker/wire/fair-turns.js';
import { ReadTurns } from '../../../src/broker/wire/packet-reader.js';

/** How many publishes of non-subscribers are read in one turn of the event loop. */
const BUDGET = 100;
const BUDGET_WHEN_LAGGING = 20;
/** A lag that reduces the reading of publishes. */
const MUCH_LAG = 501;
const LAG_CHECKED_WITHIN_MS = 6;

/** A connection with pieces to read, and several publishes in each. */
class Connection implements TurnTaker {
  readonly onlyAcknowledges: boolean;
  readonly place: TurnPlace;
  readonly #publishes: number;
  readonly #onTurn: () => void;
  #pieces: number;

  constructor(options: {
    readonly onlyAcknowledges?: boolean;
    /** The location and the principal, separated by a slash; unique if omitted. */
    readonly place?: string;
    readonly pieces?: number;
    readonly publishes?: number;
    readonly onTurn: () => void;
  }) {
    this.onlyAcknowledges = options.onlyAcknowledges ?? false;
    const [location = '', principal = ''] = (options.place ?? `home/${randomUUID()}`).split('/');
    this.place = { location, principal };
    this.#pieces = options.pieces ?? Number.POSITIVE_INFINITY;
    this.#publishes = options.publishes ?? 1;
    this.#onTurn = options.onTurn;
  }

  get wantsTurn(): boolean {
    return this.#pieces > 0;
  }

  takeTurn(): number {
    this.#pieces--;
    this.#onTurn();
    return this.#publishes;
  }
}

/** Waits for one turn of the event loop: the scheduled round is over. */
function round(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Time passes only when a test says so: the load of the machine does not affect turns. */
let elapsedMs = 0;
const elapsed = () => elapsedMs;

function busyFor(durationMs: number): void {
  elapsedMs += durationMs;
}

beforeEach(() => {
  elapsedMs = 0;
});

describe('reading in turns', () => {
  it('gives each connection a turn before any has its second', async () => {
    const turns = new ReadTurns({ lag: 0 }, elapsed);
    const order: string[] = [];
    for (const name of ['a', 'b', 'c']) {
      turns.want(new Connection({ pieces: 2, onTurn: () => order.push(name) }));
    }
    // A busy machine may end a round early.
    while (order.length < 6) await round();
    expect(order).toEqual(['a', 'b', 'c', 'a', 'b', 'c']);
  });

  it('gives a quiet connection its turn after at most one of each flooding connection', async () => {
    const turns = new ReadTurns({ lag: 0 }, elapsed);
    const order: string[] = [];
    const flood = new Connection({ publishes: 30, onTurn: () => order.push('flood') });
    turns.want(flood);
    await round();
    const before = order.length;
    turns.want(new Connection({ pieces: 1, onTurn: () => order.push('quiet') }));
    await round();
    expect(order.slice(before).indexOf('quiet')).toBeLessThanOrEqual(1);
    turns.leave(flood);
  });

  it.each([
    ['connections of a principal', ['home/one', 'home/one', 'home/one', 'home/other']],
    ['principals of a location', ['home/1', 'home/2', 'home/3', 'other/4']],
    ['strangers at one address', ['strangers/a', 'strangers/a', 'strangers/a', 'strangers/b']],
  ])('gives many %s together no more turns than a single one', async (_what, places) => {
    const turns = new ReadTurns({ lag: 0 }, elapsed);
    const counts = places.map(() => 0);
    const connections = places.map(
      (place, index) =>
        new Connection({ place, onTurn: () => (counts[index] = (counts[index] ?? 0) + 1) }),
    );
    for (const connection of connections) turns.want(connection);
    for (let count = 0; count < 12; count++) await round();
    const [alone = 0] = counts.slice(-1);
    // A round may have ended in the middle of a circle.
    for (const count of counts.slice(0, 3)) {
      expect(count / alone).toBeGreaterThan(1 / 3 / 1.3);
      expect(count / alone).toBeLessThan(1.3 / 3);
    }
    for (const connection of connections) turns.leave(connection);
  });

  it('soon gives a connection turns again after the process was held up in one of its turns', async () => {
    const turns = new ReadTurns({ lag: 0 }, elapsed);
    const order: string[] = [];
    const onTurn = (name: string) => () => {
      if (order.length === 0) busyFor(60_000);
      order.push(name);
    };
    const connections = ['unlucky', 'other'].map(
      (name) => new Connection({ onTurn: onTurn(name) }),
    );
    for (const one of connections) turns.want(one);
    while (order.length < 2 * BUDGET) await round();
    expect(order.filter((name) => name === 'unlucky').length).toBeGreaterThan(BUDGET / 2);
    for (const one of connections) turns.leave(one);
  });

  it('ends a round that takes long, however few messages it has read', async () => {
    const turns = new ReadTurns({ lag: 0 }, elapsed);
    let pieces = 0;
    const slow = new Connection({
      onTurn: () => {
        pieces++;
        busyFor(4);
      },
    });
    turns.want(slow);
    await round();
    expect(pieces).toBeLessThan(5);
    turns.leave(slow);
  });

  it('continues where it stopped when the budget of a round is used up', async () => {
    const turns = new ReadTurns({ lag: 0 }, elapsed);
    const order: number[] = [];
    const connections = Array.from(
      { length: 5 },
      (_, index) => new Connection({ publishes: BUDGET / 2, onTurn: () => order.push(index) }),
    );
    for (const connection of connections) turns.want(connection);
    for (let count = 0; count < 5; count++) await round();
    expect(order).toEqual([0, 1, 2, 3, 4, 0, 1, 2, 3, 4]);
    for (const connection of connections) turns.leave(connection);
  });

  it('reads subscribers before all others, each of them once per round', async () => {
    const turns = new ReadTurns({ lag: 0 }, elapsed);
    const order: string[] = [];
    turns.want(new Connection({ pieces: 1, onTurn: () => order.push('device') }));
    for (const name of ['one', 'other']) {
      const onTurn = () => order.push(name);
      turns.want(new Connection({ onlyAcknowledges: true, pieces: 2, onTurn }));
    }
    await round();
    expect(order).toEqual(['one', 'other', 'device']);
    await round();
    expect(order).toEqual(['one', 'other', 'device', 'one', 'other']);
  });

  it('reads others, too, while subscribers have more to read than there is time', async () => {
    const turns = new ReadTurns({ lag: 0 }, elapsed);
    const order: string[] = [];
    const subscribers = Array.from({ length: 10 }, (_, index) => {
      const onTurn = () => {
        busyFor(2);
        order.push(`subscriber ${index}`);
      };
      return new Connection({ onlyAcknowledges: true, onTurn });
    });
    for (const subscriber of subscribers) turns.want(subscriber);
    turns.want(new Connection({ pieces: 1, onTurn: () => order.push('device') }));
    await round();
    expect(order.at(-1)).toBe('device');
    expect(order.length).toBeLessThan(10);
    // Connections not read in the last round come before those that were.
    while (order.length < 11) await round();
    expect(new Set(order).size).toBe(11);
    for (const subscriber of subscribers) turns.leave(subscriber);
  });

  it('reads a bounded number of publishes per round, and fewer while consumers lag', async () => {
    let lag = 0;
    let publishes = 0;
    const deliveries = {
      get lag() {
        return lag;
      },
    };
    const turns = new ReadTurns(deliveries, elapsed);
    const flood = new Connection({ onTurn: () => publishes++ });
    turns.want(flood);
    await round();
    expect(publishes).toBe(BUDGET);
    const inNextRound = async () => {
      const before = publishes;
      // The lag is checked again, and a pause is over.
      elapsedMs += LAG_CHECKED_WITHIN_MS;
      while (publishes === before) await round();
      return publishes - before;
    };
    lag = MUCH_LAG;
    expect(await inNextRound()).toBe(BUDGET_WHEN_LAGGING);
    lag = 0;
    expect(await inNextRound()).toBe(BUDGET);
    turns.leave(flood);
  });

  it('pauses between rounds while consumers lag, for at most 5 ms', async () => {
    vi.useFakeTimers();
    onTestFinished(() => {
      vi.useRealTimers();
    });
    let publishes = 0;
    const turns = new ReadTurns({ lag: 1_000_000 }, () => performance.now());
    const flood = new Connection({ pieces: 10_000, onTurn: () => publishes++ });
    turns.want(flood);
    await vi.advanceTimersByTimeAsync(100);
    expect(publishes).toBeGreaterThanOrEqual(15 * BUDGET_WHEN_LAGGING);
    expect(publishes).toBeLessThanOrEqual(21 * BUDGET_WHEN_LAGGING);
    turns.leave(flood);
  });

  it('counts a piece without a publish as one, since a large publish takes many', async () => {
    let pieces = 0;
    const turns = new ReadTurns({ lag: 0 }, elapsed);
    const large = new Connection({ publishes: 0, onTurn: () => pieces++ });
    turns.want(large);
    await round();
    expect(pieces).toBe(BUDGET);
    turns.leave(large);
  });

  it('stops reading a connection that has left', async () => {
    const turns = new ReadTurns({ lag: 0 }, elapsed);
    const order: string[] = [];
    const gone = new Connection({ onTurn: () => order.push('gone') });
    turns.want(gone);
    turns.want(new Connection({ pieces: 1, onTurn: () => order.push('here') }));
    turns.leave(gone);
    await round();
    expect(order).toEqual(['here']);
  });
});
