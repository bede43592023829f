/** Stops what a trial has started, last in first out: after it, and when the run is interrupted. */
export class Cleanups {
  readonly #stops: (() => Promise<unknown>)[] = [];
  #ended: Promise<void> = Promise.resolve();
  #isOver = false;

  /** @throws Error when everything was stopped already: the trial must not start more */
  onEnd(stop: () => Promise<unknown>): void {
    this.#stops.push(stop);
    if (!this.#isOver) return;
    this.run();
    throw new Error('the trial is over');
  }

  /** Resolves when everything is stopped; a failure is printed and keeps nothing else from stopping. */
  run(): Promise<void> {
    this.#isOver = true;
    // An interruption while a trial is being cleaned up waits for that.
    this.#ended = this.#ended.then(() => this.#runAll());
    return this.#ended;
  }

  async #runAll(): Promise<void> {
    for (let stop = this.#stops.pop(); stop !== undefined; stop = this.#stops.pop()) {
      try {
        await stop();
      } catch (error) {
        console.error(`  failed to stop: ${String(error)}`);
      }
    }
  }
}
