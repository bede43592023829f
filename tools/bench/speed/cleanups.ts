/** Stops what a trial started, last in first out: after the trial, and when the run is interrupted. */
export class Cleanups {
  readonly #stops: (() => Promise<unknown>)[] = [];
  #ended: Promise<void> = Promise.resolve();
  #isOver = false;

  /** @throws Error when everything is already stopped: the trial must not start more */
  onEnd(stop: () => Promise<unknown>): void {
    this.#stops.push(stop);
    if (!this.#isOver) return;
    this.run();
    throw new Error('the trial is over');
  }

  /** Resolves when everything is stopped; prints a failure and still stops the rest. */
  run(): Promise<void> {
    this.#isOver = true;
    // An interruption during a cleanup waits for that cleanup.
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
