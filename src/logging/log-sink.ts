import { write } from 'node:fs';

/** Bound of the lines that wait for a slow reader; beyond it, lines are lost. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;
const RETRY_MS = 100;

/**
 * Writes the lines of the log, without ever blocking the gateway.
 *
 * With a closed terminal, a full disk or a stopped reader, lines are lost and counted. Their number is
 * written as soon as possible.
 */
export class LogSink {
  readonly #descriptor: number;
  readonly #lostLines: (count: number) => string;
  /** The lines being written; the waiting ones come next. */
  #writing = Buffer.alloc(0);
  #waiting: string[] = [];
  #waitingLength = 0;
  #lost = 0;
  #isBusy = false;
  #whenIdle: (() => void) | undefined;

  /** @param lostLines renders the line with the number of lost lines */
  constructor(descriptor: number, lostLines: (count: number) => string) {
    this.#descriptor = descriptor;
    this.#lostLines = lostLines;
  }

  write(line: string): void {
    if (this.#waitingLength + line.length > MAX_WAITING_BYTES) {
      this.#lost++;
      return;
    }
    this.#waiting.push(line);
    this.#waitingLength += line.length;
    if (!this.#isBusy) this.#next();
  }

  /** Resolves when everything is written, or at the timeout. */
  async drain(timeoutMs: number): Promise<void> {
    if (!this.#isBusy) return;
    await new Promise<void>((resolve) => {
      this.#whenIdle = resolve;
      setTimeout(resolve, timeoutMs).unref();
    });
  }

  #next(): void {
    this.#isBusy = this.#waiting.length > 0 || this.#lost > 0;
    if (!this.#isBusy) {
      this.#whenIdle?.();
      return;
    }
    // The lost lines came after the waiting ones.
    const lost = this.#lost > 0 ? this.#lostLines(this.#lost) : '';
    this.#writing = Buffer.from(this.#waiting.join('') + lost);
    const count = this.#waiting.length + this.#lost;
    this.#waiting = [];
    this.#waitingLength = 0;
    this.#lost = 0;
    this.#write(count);
  }

  /** @param count the lines in the buffer being written, or lost before it */
  #write(count: number): void {
    write(this.#descriptor, this.#writing, (error, written) => {
      if (error?.code === 'EAGAIN') {
        setTimeout(() => this.#write(count), RETRY_MS);
      } else if (error !== null) {
        this.#lost += count;
        // After a pause: writing to a full disk would leave time for nothing else.
        setTimeout(() => this.#next(), RETRY_MS);
      } else if (written < this.#writing.length) {
        this.#writing = this.#writing.subarray(written);
        this.#write(count);
      } else {
        this.#next();
      }
    });
  }
}
