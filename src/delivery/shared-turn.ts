/**
 * Does a piece of work one at a time. Whoever asks for it while it is being done shares the next turn
 * with all others who do: it sees what had changed until it began.
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
    this.#next ??= this.#last.then(() => {
      this.#next = undefined;
      return this.#work();
    });
    // Whoever shares it is told of a failure; the turn after it only waits for its end.
    this.#last = Promise.allSettled([this.#next]);
    return this.#next;
  }
}
