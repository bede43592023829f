import type { Duplex } from 'node:stream';

/**
 * Stops reading from a connection, so that what a client sends stays with the client. Aedes counts
 * the packets it has not finished, but reads on with whatever arrives.
 */
export class ReadGate {
  readonly #stream: Duplex;
  #isOpen = true;

  constructor(stream: Duplex) {
    this.#stream = stream;
    const read = stream.read.bind(stream);
    stream.read = (size?: number) => (this.#isOpen ? read(size) : null);
  }

  close(): void {
    this.#isOpen = false;
  }

  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#stream.emit('readable');
  }

  /** Has Aedes count one packet less, and read on although it has not finished that one. */
  readOn(): void {
    this.#stream.emit('readable');
  }
}
