/**
 * Puts work that anybody can ask for, HTTP requests and TLS handshakes, into small turns: alarms pass between them.
 *
 * The lines, one for each client or network, get turns in a circle: who asks for much waits for itself.
 */

/** How many pieces of work are done in one turn of the event loop. */
const PIECES_PER_TURN = 8;

export class Circle {
  /** The work of each line, the line whose turn is next first. */
  readonly #lines = new Map<string, Set<() => void>>();
  #isScheduled = false;

  /** Does a small piece of work when its turn comes; the same function waits only once. */
  want(line: string, work: () => void): void {
    const waiting = this.#lines.get(line);
    if (waiting === undefined) this.#lines.set(line, new Set([work]));
    else waiting.add(work);
    this.#schedule();
  }

  /** Takes back work that has become superfluous. */
  leave(line: string, work: () => void): void {
    const waiting = this.#lines.get(line);
    waiting?.delete(work);
    if (waiting?.size === 0) this.#lines.delete(line);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // One immediate for each piece: the promises that a piece settles run before the next one.
    for (let piece = 1; piece < PIECES_PER_TURN; piece++) setImmediate(() => this.#doNext());
    setImmediate(() => {
      this.#doNext();
      this.#isScheduled = false;
      if (this.#lines.size > 0) this.#schedule();
    });
  }

  #doNext(): void {
    for (const [line, waiting] of this.#lines) {
      this.#lines.delete(line);
      const [work] = waiting;
      if (work === undefined) continue;
      waiting.delete(work);
      if (waiting.size > 0) this.#lines.set(line, waiting);
      work();
      return;
    }
  }
}
