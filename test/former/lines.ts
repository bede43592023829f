import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

const WAIT_MS = 120_000;

/** Collects the output of a process line by line, and waits for lines. */
export class Lines {
  readonly all: string[] = [];
  #waiting: (() => void)[] = [];

  read(stream: Readable): void {
    const lines = createInterface({ input: stream }).on('line', (line) => this.add(line));
    // The pipe of a killed process may be reset, even after the test that killed it.
    lines.on('error', () => undefined);
  }

  add(line: string): void {
    this.all.push(line);
    for (const check of [...this.#waiting]) check();
  }

  /** Resolves to the first line with the text, from line `from` on. */
  next(text: string | RegExp, from = this.all.length, timeoutMs = WAIT_MS): Promise<string> {
    const isIt = (line: string) =>
      typeof text === 'string' ? line.includes(text) : text.test(line);
    let at = from;
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer);
        this.#waiting = this.#waiting.filter((waiting) => waiting !== check);
      };
      const check = () => {
        for (; at < this.all.length; at++) {
          const line = this.all[at] ?? '';
          if (!isIt(line)) continue;
          end();
          resolve(line);
          return;
        }
      };
      const timer = setTimeout(() => {
        end();
        reject(
          new Error(`${text} was never said; the last lines:\n${this.all.slice(-30).join('\n')}`),
        );
      }, timeoutMs);
      // Waiting for a process that has ended must not keep this process alive.
      timer.unref();
      this.#waiting.push(check);
      check();
    });
  }
}
