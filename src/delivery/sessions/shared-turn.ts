/**
 * Runs a piece of work one turn at a time.
 *
 * Callers that ask during a turn share the next one, which sees all changes made until it begins.
 */
export class SharedTurn {
  readonly #work: () => Promise<void>;
  #last: Promise<unknown> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(work: () => Promise<void>) {
    this.#work = work;
  }

  /** Resolves, or fails, with a turn that has not begun yet. */
  take(): Promise<void> {
    if (this.#next !== undefined) return this.#next;
    const next = this.#last.then(() => {
      this.#next = undefined;
      return this.#work();
    });
    this.#next = next;
    // The callers of a turn are told of its failure; the turn after it only waits for its end.
    this.#last = Promise.allSettled([next]);
    return next;
  }
}
