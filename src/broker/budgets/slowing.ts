import type { Duplex } from 'node:stream';
import type { Budget, ReachedLimit } from './budgets.js';

/** Coarse enough for a thousand slowed connections, fine enough for a burst of 50 ms. */
const CHECK_INTERVAL_MS = 50;
/** A principal that has not been held back for this long no longer counts as slowed. */
const OVER_AFTER_MS = 10_000;

/** A principal that is read later than it sends. */
export interface Slowed {
  readonly budget: Budget;
  readonly limit: ReachedLimit;
  readonly sinceMs: number;
}

/** Finds the limit that a principal's connection waits for. */
type ReachedOf = (budget: Budget, nowMs: number) => ReachedLimit | undefined;

const ofTraffic: ReachedOf = (budget, nowMs) => budget.reachedLimit(nowMs);
const ofConnects: ReachedOf = (budget, nowMs) => budget.reachedConnectLimit(nowMs);

interface Entry {
  readonly slowed: { readonly budget: Budget; limit: ReachedLimit; readonly sinceMs: number };
  /** Its waiting connections, each with the limit to check. */
  readonly waiting: Map<() => void, ReachedOf>;
  heldAtMs: number;
}

/** Holds back the connections of principals that have reached a limit, until their budget is free. */
export class Slowing {
  readonly #now: () => number;
  readonly #entries = new Map<Budget, Entry>();
  #timer: NodeJS.Timeout | undefined;
  #times = 0;

  /** @param now the wall clock */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Calls back once the principal may be read again. The returned function cancels that. */
  hold(budget: Budget, limit: ReachedLimit, proceed: () => void): () => void {
    return this.#hold(budget, limit, ofTraffic, proceed);
  }

  /**
   * Waits until the principal may connect; for ever if the connection ends first.
   *
   * An ended connection would only add to the debt, together with others like it, and must not take the
   * session of a connected client.
   */
  async holdConnect(budget: Budget, connection: Duplex): Promise<void> {
    await new Promise<void>((resolve) => {
      if (connection.destroyed) return;
      const limit = budget.reachedConnectLimit(performance.now());
      if (limit === undefined) resolve();
      else connection.once('close', this.#hold(budget, limit, ofConnects, resolve));
    });
  }

  #hold(
    budget: Budget,
    limit: ReachedLimit,
    reachedOf: ReachedOf,
    proceed: () => void,
  ): () => void {
    const entry = this.#entries.get(budget) ?? {
      slowed: { budget, limit, sinceMs: this.#now() },
      waiting: new Map(),
      heldAtMs: 0,
    };
    this.#entries.set(budget, entry);
    entry.slowed.limit = limit;
    entry.heldAtMs = performance.now();
    entry.waiting.set(proceed, reachedOf);
    this.#times++;
    this.#timer ??= setInterval(() => this.#check(), CHECK_INTERVAL_MS);
    return () => entry.waiting.delete(proceed);
  }

  /** The principals that are slowed now. */
  all(): readonly Slowed[] {
    return Array.from(this.#entries.values(), ({ slowed }) => slowed);
  }

  of(budget: Budget): Slowed | undefined {
    return this.#entries.get(budget)?.slowed;
  }

  /** How often a connection was held back since the start. */
  get times(): number {
    return this.#times;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#entries.clear();
  }

  #check(): void {
    const nowMs = performance.now();
    for (const [budget, { waiting, heldAtMs }] of this.#entries) {
      if (waiting.size === 0) {
        if (nowMs - heldAtMs > OVER_AFTER_MS) this.#entries.delete(budget);
      } else {
        const isFree = new Map(
          [ofTraffic, ofConnects].map((reached) => [reached, reached(budget, nowMs) === undefined]),
        );
        for (const [proceed, reached] of [...waiting]) {
          if (isFree.get(reached) === true && waiting.delete(proceed)) proceed();
        }
      }
    }
    if (this.#entries.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
