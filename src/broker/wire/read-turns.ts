import { FairTurns, type TurnTaker } from './fair-turns.js';

/** Messages read in one round; about as many are sent to each consumer in one. */
const MESSAGES_PER_ROUND = 100;
/** Messages read in one round while consumers lag: acknowledgements go before publishes. */
const MESSAGES_PER_ROUND_WHEN_LAGGING = 20;
const LAG_ENTRIES = 500;
/** The more entries consumers lag, the longer the pause between rounds, up to a bound. */
const ENTRIES_PER_PAUSE_MS = 250;
const MAX_PAUSE_MS = 5;
const SUBSCRIBERS_ROUND_MS = 5;
const OTHERS_ROUND_MS = 10;
const LAG_CHECK_INTERVAL_MS = 5;

/**
 * Reads connections in turn, one bounded piece each.
 *
 * Delivery goes on however fast publishes come in: subscribers, whose acknowledgements make room
 * for messages, are read first, and publishes take a bounded part of each turn of the event loop,
 * less the more the consumers lag.
 */
export class ReadTurns {
  readonly #deliveries: { readonly lag: number };
  readonly #elapsed: () => number;
  readonly #subscribers: FairTurns;
  readonly #others: FairTurns;
  #isScheduled = false;
  #timer: NodeJS.Timeout | undefined;
  #lagCheckedAtMs = Number.NEGATIVE_INFINITY;
  #lagEntries = 0;
  #othersNotBeforeMs = 0;

  /**
   * @param deliveries `lag`: how many entries a consumer that reads has still to be sent
   * @param elapsed a clock that does not jump
   */
  constructor(deliveries: { readonly lag: number }, elapsed = () => performance.now()) {
    this.#deliveries = deliveries;
    this.#elapsed = elapsed;
    this.#subscribers = new FairTurns(elapsed);
    this.#others = new FairTurns(elapsed);
  }

  /** Queues a connection that has something to read. */
  want(taker: TurnTaker): void {
    (taker.isSubscriber ? this.#subscribers : this.#others).want(taker);
    this.#schedule();
  }

  /** Removes a connection that is gone, or whose place is another now. */
  leave(taker: TurnTaker): void {
    this.#subscribers.leave(taker);
    this.#others.leave(taker);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    const pauseMs = this.#othersNotBeforeMs - this.#elapsed();
    if (this.#subscribers.waiting > 0 || pauseMs <= 0) {
      this.#isScheduled = true;
      setImmediate(() => this.#round());
    } else {
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined;
        this.#round();
      }, pauseMs);
    }
  }

  #round(): void {
    this.#isScheduled = false;
    const nowMs = this.#elapsed();
    this.#readSubscribers(nowMs);
    if (nowMs >= this.#othersNotBeforeMs) this.#readOthers(nowMs);
    if (this.#subscribers.waiting + this.#others.waiting > 0) this.#schedule();
  }

  /** As many turns as there are subscribers that want one: about one each. */
  #readSubscribers(nowMs: number): void {
    for (let turns = this.#subscribers.waiting; turns > 0; turns--) {
      this.#subscribers.next();
      if (this.#elapsed() - nowMs > SUBSCRIBERS_ROUND_MS) return;
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
      const messages = this.#others.next();
      if (messages === undefined) return;
      // One at least: a large publish takes many turns that bring none.
      left -= Math.max(1, messages);
    }
  }

  #lagAt(nowMs: number): number {
    if (nowMs - this.#lagCheckedAtMs > LAG_CHECK_INTERVAL_MS) {
      this.#lagCheckedAtMs = nowMs;
      this.#lagEntries = this.#deliveries.lag;
    }
    return this.#lagEntries;
  }
}
