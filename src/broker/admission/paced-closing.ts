const CLOSED_PER_TURN = 20;

/**
 * Closes network connections in turns of the event loop.
 *
 * A close costs about 30 µs, and clients can cause thousands of them together. Alarms pass between the
 * turns.
 */
export class PacedClosing {
  readonly #waiting: (() => void)[] = [];

  /** Closes a connection when its turn comes; until then it is open. */
  add(close: () => void): void {
    this.#waiting.push(close);
    if (this.#waiting.length === 1) setImmediate(this.#closeSome);
  }

  readonly #closeSome = () => {
    const closes = this.#waiting.splice(0, CLOSED_PER_TURN);
    if (this.#waiting.length > 0) setImmediate(this.#closeSome);
    for (const close of closes) close();
  };
}
