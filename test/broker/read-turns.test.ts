import { describe, expect, it } from 'vitest';
import { ReadTurns, type TurnTaker } from '../../src/broker/packet-reader.js';

/** Publishes of others than subscribers that are read in one turn of the event loop. */
const BUDGET = 100;
const BUDGET_WHEN_LAGGING = 20;
/** A lag at which fewer publishes are read. */
const MUCH_LAG = 501;

/** A connection with pieces to read, and a number of publishes in each. */
class Connection implements TurnTaker {
  readonly isSubscriber: boolean;
  readonly #publishes: number;
  readonly #onTurn: () => void;
  #pieces: number;

  constructor(options: {
    readonly isSubscriber?: boolean;
    readonly pieces?: number;
    readonly publishes?: number;
    readonly onTurn: () => void;
  }) {
    this.isSubscriber = options.isSubscriber ?? false;
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

function busyFor(durationMs: number): void {
  const until = performance.now() + durationMs;
  while (performance.now() < until);
}

describe('reading in turns', () => {
  it('gives each connection a turn before any has its second', async () => {
    const turns = new ReadTurns({ lag: 0 });
    const order: string[] = [];
    for (const name of ['a', 'b', 'c']) {
      turns.want(new Connection({ pieces: 2, onTurn: () => order.push(name) }));
    }
    await round();
    expect(order).toEqual(['a', 'b', 'c', 'a', 'b', 'c']);
  });

  it('gives a quiet connection its turn between those of one that floods', async () => {
    const turns = new ReadTurns({ lag: 0 });
    const order: string[] = [];
    const flood = new Connection({ publishes: 30, onTurn: () => order.push('flood') });
    turns.want(flood);
    await round();
    const before = order.length;
    turns.want(new Connection({ pieces: 1, onTurn: () => order.push('quiet') }));
    await round();
    expect(order.slice(before).indexOf('quiet')).toBe(1);
    turns.leave(flood);
  });

  it('goes on where it stopped when the budget of a round is used up', async () => {
    const turns = new ReadTurns({ lag: 0 });
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

  it('reads subscribers before all others, and each of them once a round', async () => {
    const turns = new ReadTurns({ lag: 0 });
    const order: string[] = [];
    turns.want(new Connection({ pieces: 1, onTurn: () => order.push('device') }));
    for (const name of ['one', 'other']) {
      const onTurn = () => order.push(name);
      turns.want(new Connection({ isSubscriber: true, pieces: 2, onTurn }));
    }
    await round();
    expect(order).toEqual(['one', 'other', 'device']);
    await round();
    expect(order).toEqual(['one', 'other', 'device', 'one', 'other']);
  });

  it('reads others also while subscribers have more to read than time', async () => {
    const turns = new ReadTurns({ lag: 0 });
    const order: string[] = [];
    const subscribers = Array.from({ length: 10 }, (_, index) => {
      const onTurn = () => {
        busyFor(2);
        order.push(`subscriber ${index}`);
      };
      return new Connection({ isSubscriber: true, onTurn });
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

  it('takes a bounded number of publishes a round, and fewer while consumers lag', async () => {
    let lag = 0;
    let publishes = 0;
    const turns = new ReadTurns({
      get lag() {
        return lag;
      },
    });
    const flood = new Connection({ onTurn: () => publishes++ });
    turns.want(flood);
    await round();
    expect(publishes).toBe(BUDGET);
    const inOneRound = async () => {
      const before = publishes;
      await round();
      return publishes - before;
    };
    lag = MUCH_LAG;
    await expect.poll(inOneRound, { interval: 1 }).toBe(BUDGET_WHEN_LAGGING);
    lag = 0;
    await expect.poll(inOneRound, { interval: 1 }).toBe(BUDGET);
    turns.leave(flood);
  });

  it('counts a piece without a publish as one: a large publish takes many', async () => {
    let pieces = 0;
    const turns = new ReadTurns({ lag: 0 });
    const large = new Connection({ publishes: 0, onTurn: () => pieces++ });
    turns.want(large);
    await round();
    expect(pieces).toBe(BUDGET);
    turns.leave(large);
  });

  it('reads no more of a connection that has left', async () => {
    const turns = new ReadTurns({ lag: 0 });
    const order: string[] = [];
    const gone = new Connection({ onTurn: () => order.push('gone') });
    turns.want(gone);
    turns.want(new Connection({ pieces: 1, onTurn: () => order.push('here') }));
    turns.leave(gone);
    await round();
    expect(order).toEqual(['here']);
  });
});
