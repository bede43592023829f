/** Whose turns a connection takes part in. */
export interface TurnPlace {
  /** The location, or what stands for one. */
  readonly location: string;
  /** The principal, or the address of a client that is not authenticated. */
  readonly principal: string;
}

/** A client's connection, which is read in turns. */
export interface TurnTaker {
  readonly place: TurnPlace;
  /** Whether the client is a subscriber, whose acknowledgements make room for messages. */
  readonly isSubscriber: boolean;
  /** Reads a bounded piece. Returns how many messages were in it. */
  takeTurn(nowMs: number): number;
  /** Whether there is more to read, and it may be read. */
  readonly wantsTurn: boolean;
}

/**
 * Gives connections turns by location, then principal, then connection.
 *
 * Further connections of a principal bring no more turns, nor do further devices of a location. So a connection waits for
 * one turn of each other location, and one of each principal of its own.
 */
export class FairTurns {
  readonly #locations = new Map<string, Map<string, Set<TurnTaker>>>();
  /** Where each connection waits: its place may be another by the time it leaves. */
  readonly #places = new Map<TurnTaker, TurnPlace>();
  readonly #elapsed: () => number;

  /** @param elapsed a clock that does not jump */
  constructor(elapsed: () => number) {
    this.#elapsed = elapsed;
  }

  /** How many connections want a turn. */
  get waiting(): number {
    return this.#places.size;
  }

  want(taker: TurnTaker): void {
    if (this.#places.has(taker)) return;
    const { place } = taker;
    const { location, principal } = place;
    this.#places.set(taker, place);
    const principals = this.#locations.get(location) ?? new Map<string, Set<TurnTaker>>();
    this.#locations.set(location, principals);
    const takers = principals.get(principal) ?? new Set();
    principals.set(principal, takers.add(taker));
  }

  /** Removes a connection that is gone, or whose place is another now. */
  leave(taker: TurnTaker): void {
    const place = this.#places.get(taker);
    if (place === undefined) return;
    this.#places.delete(taker);
    const principals = this.#locations.get(place.location);
    const takers = principals?.get(place.principal);
    takers?.delete(taker);
    if (takers?.size === 0) principals?.delete(place.principal);
    if (principals?.size === 0) this.#locations.delete(place.location);
  }

  /** Gives the next turn. Returns the messages read, or undefined when no connection is waiting. */
  next(): number | undefined {
    for (const [location, principals] of this.#locations) {
      for (const [principal, takers] of principals) {
        for (const taker of takers) {
          // Those that are left have their next turns behind all others.
          toEnd(this.#locations, location, principals);
          toEnd(principals, principal, takers);
          this.leave(taker);
          const messages = taker.takeTurn(this.#elapsed());
          if (taker.wantsTurn) this.want(taker);
          return messages;
        }
      }
    }
    return undefined;
  }
}

function toEnd<Value>(circle: Map<string, Value>, key: string, value: Value): void {
  circle.delete(key);
  circle.set(key, value);
}
