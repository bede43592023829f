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

interface Entry {
  readonly slowed: { readonly budget: Budget; limit: ReachedLimit; readonly sinceMs: number };
  /** Its waiting connections: each call lets one go on. */
  readonly waiting: Set<() => void>;
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
    const entry = this.#entries.get(budget) ?? {
      slowed: { budget, limit, sinceMs: this.#now() },
      waiting: new Set(),
      heldAtMs: 0,
    };
    this.#entries.set(budget, entry);
    entry.slowed.limit = limit;
    entry.heldAtMs = performance.now();
    entry.waiting.add(proceed);
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
      } else if (budget.reachedLimit(nowMs) === undefined) {
        for (const proceed of [...waiting]) if (waiting.delete(proceed)) proceed();
      }
    }
    if (this.#entries.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
