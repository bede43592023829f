import type { Duplex } from 'node:stream';

const CLOSED_PER_TURN = 20;

/**
 * Closes network connections in turns of the event loop.
 *
 * A close costs some 30 µs, and thousands may come at once: when a network is cut, or at the will of those who
 * opened them. Alarms pass between the turns.
 */
export class PacedClosing {
  readonly #waiting: (() => void)[] = [];

  /** Lets the connection wait for its turn when it is destroyed, for whatever reason. */
  pace(stream: Duplex): void {
    const destroy = stream._destroy.bind(stream);
    stream._destroy = (error, done) => {
      this.#waiting.push(() => destroy(error, done));
      if (this.#waiting.length === 1) setImmediate(this.#closeSome);
    };
  }

  readonly #closeSome = () => {
    const closes = this.#waiting.splice(0, CLOSED_PER_TURN);
    if (this.#waiting.length > 0) setImmediate(this.#closeSome);
    for (const close of closes) close();
  };
}
