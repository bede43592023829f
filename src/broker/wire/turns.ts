/**
 * Decides whose packets are read next.
 *
 * Delivery goes on however fast publishes arrive. Clients that only acknowledge are read first, whatever their credential:
 * acknowledgements make room for messages. The others are read in a circle of principals, and opening more connections
 * does not get a principal more turns. Each turn of the event loop has a limit for them, which is lower while even the
 * fastest consumer lags.
 */

/** Messages read in one round; each consumer is sent about as many per round. */
const MESSAGES_PER_ROUND = 100;
/** Messages read in one round while consumers lag: acknowledgements go before publishes. */
const MESSAGES_PER_ROUND_WHEN_LAGGING = 20;
const LAG_ENTRIES = 500;
/** While consumers lag, rounds pause: longer for each so many entries, up to a bound. */
const ENTRIES_PER_PAUSE_MS = 250;
const MAX_PAUSE_MS = 5;
const ACKNOWLEDGERS_ROUND_MS = 5;
const OTHERS_ROUND_MS = 10;
const LAG_CHECK_INTERVAL_MS = 5;

/** A client's connection, which is read in turns. */
export interface TurnTaker {
  /** Whose turns it shares: the principal's, or those of an address that has not logged in. */
  readonly principal: string;
  /** Whether the client sends only acknowledgements at present. */
  readonly onlyAcknowledges: boolean;
  /** Reads a bounded piece. Returns how many messages were in it. */
  takeTurn(nowMs: number): number;
  /** Whether there is more to read, and it may be read. */
  readonly wantsTurn: boolean;
}

export class Turns {
  readonly #router: { readonly lag: number };
  readonly #elapsed: () => number;
  readonly #acknowledgers = new Circle();
  readonly #others = new Circle();
  #isScheduled = false;
  #timer: NodeJS.Timeout | undefined;
  #lagCheckedAtMs = Number.NEGATIVE_INFINITY;
  #lagEntries = 0;
  #othersNotBeforeMs = 0;

  /**
   * @param router `lag`: how many entries still wait to be sent to a consumer that reads
   * @param elapsed a clock that does not jump
   */
  constructor(router: { readonly lag: number }, elapsed = () => performance.now()) {
    this.#router = router;
    this.#elapsed = elapsed;
  }

  /** Queues a connection that has something to read. */
  want(taker: TurnTaker): void {
    (taker.onlyAcknowledges ? this.#acknowledgers : this.#others).add(taker);
    this.#schedule();
  }

  /** Removes a connection that is gone, or has another principal now. */
  leave(taker: TurnTaker): void {
    this.#acknowledgers.leave(taker);
    this.#others.leave(taker);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    const pauseMs = this.#othersNotBeforeMs - this.#elapsed();
    if (this.#acknowledgers.size > 0 || pauseMs <= 0) {
      this.#isScheduled = true;
      setImmediate(() => this.#round());
    } else {
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined;
        this.#schedule();
      }, pauseMs);
    }
  }

  #round(): void {
    this.#isScheduled = false;
    const nowMs = this.#elapsed();
    this.#readAcknowledgers(nowMs);
    if (nowMs >= this.#othersNotBeforeMs) this.#readOthers(nowMs);
    if (this.#acknowledgers.size + this.#others.size > 0) this.#schedule();
  }

  /** Gives as many turns as there are waiting clients: about one each. */
  #readAcknowledgers(nowMs: number): void {
    for (let turns = this.#acknowledgers.size; turns > 0; turns--) {
      this.#turn(this.#acknowledgers);
      if (this.#elapsed() - nowMs > ACKNOWLEDGERS_ROUND_MS) return;
    }
  }

  #readOthers(nowMs: number): void {
    const lag = this.#lagAt(nowMs);
    const isLagging = lag > LAG_ENTRIES;
    let left = isLagging ? MESSAGES_PER_ROUND_WHEN_LAGGING : MESSAGES_PER_ROUND;
    if (isLagging) {
      this.#othersNotBeforeMs = nowMs + Math.min(MAX_PAUSE_MS, lag / ENTRIES_PER_PAUSE_MS);
    }
    const startMs = this.#elapsed();
    while (left > 0 && this.#elapsed() - startMs < OTHERS_ROUND_MS) {
      const messages = this.#turn(this.#others);
      if (messages === undefined) return;
      // At least one: a large publish takes many turns without a message.
      left -= Math.max(1, messages);
    }
  }

  /** Gives the next connection its turn. Returns how many messages it read; undefined if none is waiting. */
  #turn(circle: Circle): number | undefined {
    const taker = circle.take();
    const messages = taker?.takeTurn(this.#elapsed());
    if (taker?.wantsTurn === true) this.want(taker);
    return messages;
  }

  #lagAt(nowMs: number): number {
    if (nowMs - this.#lagCheckedAtMs > LAG_CHECK_INTERVAL_MS) {
      this.#lagCheckedAtMs = nowMs;
      this.#lagEntries = this.#router.lag;
    }
    return this.#lagEntries;
  }
}

/** The connections of one principal. */
interface Line {
  readonly principal: string;
  readonly waiting: Set<TurnTaker>;
  members: number;
}

/** Connections that wait for a turn, in a circle of principals, and of the connections of each. */
class Circle {
  readonly #lines = new Map<string, Line>();
  /** Where each connection waits until it leaves. */
  readonly #lineOf = new Map<TurnTaker, Line>();
  /** Those in which somebody waits, the next one first. */
  readonly #order = new Set<Line>();
  #size = 0;

  /** How many connections wait. */
  get size(): number {
    return this.#size;
  }

  add(taker: TurnTaker): void {
    const line = this.#lineOf.get(taker) ?? this.#enter(taker);
    if (line.waiting.has(taker)) return;
    line.waiting.add(taker);
    this.#order.add(line);
    this.#size++;
  }

  /** Takes out the first connection of the next principal; its others come after all other principals. */
  take(): TurnTaker | undefined {
    for (const line of this.#order) {
      for (const taker of line.waiting) {
        this.#order.delete(line);
        line.waiting.delete(taker);
        if (line.waiting.size > 0) this.#order.add(line);
        this.#size--;
        return taker;
      }
    }
    return undefined;
  }

  leave(taker: TurnTaker): void {
    const line = this.#lineOf.get(taker);
    if (line === undefined) return;
    this.#lineOf.delete(taker);
    if (line.waiting.delete(taker)) this.#size--;
    if (line.waiting.size === 0) this.#order.delete(line);
    line.members--;
    if (line.members === 0) this.#lines.delete(line.principal);
  }

  #enter(taker: TurnTaker): Line {
    const { principal } = taker;
    const line = this.#lines.get(principal) ?? { principal, waiting: new Set(), members: 0 };
    this.#lines.set(principal, line);
    this.#lineOf.set(taker, line);
    line.members++;
    return line;
  }
}
