/** The location and principal whose turns a connection shares. */
export interface TurnPlace {
  /** The location, or what stands for one. */
  readonly location: string;
  /** The principal, or the address of a client that is not authenticated. */
  readonly principal: string;
}

/** A client's connection, which is read in turns. */
export interface TurnTaker {
  readonly place: TurnPlace;
  /** Whether the client sends only acknowledgements at present: they make room for messages. */
  readonly onlyAcknowledges: boolean;
  /** Reads a bounded piece. Returns how many messages were in it. */
  takeTurn(nowMs: number): number;
  /** Whether there is more to read, and it may be read. */
  readonly wantsTurn: boolean;
}

/**
 * Gives connections turns by location, then principal, then connection.
 *
 * Further connections of a principal bring no more turns, nor do further devices of a location: locations share the turns,
 * then the principals of a location share its own.
 */
export class FairTurns {
  readonly #locations = new Map<string, Map<string, Set<TurnTaker>>>();
  /** Where each connection waits, until it leaves. */
  readonly #places = new Map<TurnTaker, TurnPlace>();
  readonly #elapsed: () => number;
  readonly #wantAgain: (taker: TurnTaker) => void;
  #waiting = 0;

  /**
   * @param elapsed a clock that does not jump
   * @param wantAgain called with a connection that has more to read after its turn
   */
  constructor(elapsed: () => number, wantAgain: (taker: TurnTaker) => void) {
    this.#elapsed = elapsed;
    this.#wantAgain = wantAgain;
  }

  /** How many connections want a turn. */
  get waiting(): number {
    return this.#waiting;
  }

  want(taker: TurnTaker): void {
    const place = this.#places.get(taker) ?? taker.place;
    const { location, principal } = place;
    this.#places.set(taker, place);
    const principals = this.#locations.get(location) ?? new Map<string, Set<TurnTaker>>();
    const takers = principals.get(principal) ?? new Set();
    if (takers.has(taker)) return;
    this.#locations.set(location, principals);
    principals.set(principal, takers.add(taker));
    this.#waiting++;
  }

  /** Removes a connection that is gone, or whose place has changed. */
  leave(taker: TurnTaker): void {
    const place = this.#places.get(taker);
    if (place === undefined) return;
    this.#places.delete(taker);
    this.#takeOut(taker, place);
  }

  /** Gives the next turn. Returns the messages read, or undefined when no connection is waiting. */
  next(): number | undefined {
    for (const [location, principals] of this.#locations) {
      for (const [principal, takers] of principals) {
        for (const taker of takers) {
          // Those that remain get their next turns after all others.
          toEnd(this.#locations, location, principals);
          toEnd(principals, principal, takers);
          this.#takeOut(taker, { location, principal });
          const messages = taker.takeTurn(this.#elapsed());
          if (taker.wantsTurn) this.#wantAgain(taker);
          return messages;
        }
      }
    }
    return undefined;
  }

  #takeOut(taker: TurnTaker, { location, principal }: TurnPlace): void {
    const principals = this.#locations.get(location);
    const takers = principals?.get(principal);
    if (takers?.delete(taker) === true) this.#waiting--;
    if (takers?.size === 0) principals?.delete(principal);
    if (principals?.size === 0) this.#locations.delete(location);
  }
}

function toEnd<Value>(circle: Map<string, Value>, key: string, value: Value): void {
  circle.delete(key);
  circle.set(key, value);
}
