/**
 * Runs a piece of work one turn at a time.
 *
 * Callers during a turn share the next one, which sees all changes made until it begins.
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
    // A failure goes to the turn's own callers; the next turn only waits for the end.
    this.#last = Promise.allSettled([next]);
    return next;
  }
}
