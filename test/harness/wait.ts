/**
 * How tests and tools wait: for an event where there is one, and by asking again where a program only answers
 * questions. A wait that fails says what it waited for. Nothing here sleeps to see that nothing happens.
 */
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';

/** Timeout of every wait. It is no bound on the gateway: a busy machine may stall. */
export const WAIT_MS = 25_000;
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS, LONGER] = [20, 200, 1.5];
const LAST_LINES = 20;

type Description = string | (() => string);

/** Waits for conditions on an object that says when it has changed. */
export class Waiters {
  #checks: (() => void)[] = [];

  /** Checks every waiting condition; the object calls it after each change. */
  changed(): void {
    for (const check of [...this.#checks]) check();
  }

  /**
   * Resolves once the condition holds.
   *
   * @param what completes "waited for …"
   * @throws what the condition throws
   */
  until(condition: () => boolean, what: Description, timeoutMs = WAIT_MS): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        clearTimeout(timer);
        this.#checks = this.#checks.filter((waiting) => waiting !== check);
        settle();
      };
      const check = () => {
        try {
          if (condition()) end(resolve);
        } catch (error) {
          end(() => reject(error));
        }
      };
      const timer = setTimeout(() => end(() => reject(timedOut(what, timeoutMs))), timeoutMs);
      // A wait for a program that has ended must not keep this process alive.
      timer.unref();
      this.#checks.push(check);
      check();
    });
  }
}

/** Asks again and again until the condition holds; for states that no event announces. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: Description,
  timeoutMs = WAIT_MS,
): Promise<void> {
  await eventually(async () => {
    if (!(await condition())) throw timedOut(what, timeoutMs);
  }, timeoutMs);
}

/** Tries again and again until the work succeeds. Fails with its last error. */
export async function eventually<T>(work: () => T | Promise<T>, timeoutMs = WAIT_MS): Promise<T> {
  const giveUpAtMs = performance.now() + timeoutMs;
  // Each pause is longer than the last: a check takes processor time from what it waits for.
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LONGER * pauseMs, LONGEST_PAUSE_MS)) {
    try {
      return await work();
    } catch (error) {
      if (performance.now() > giveUpAtMs) throw error;
    }
    await delay(pauseMs);
  }
}

function timedOut(what: Description, timeoutMs: number): Error {
  const text = typeof what === 'string' ? what : what();
  return new Error(`waited ${timeoutMs / 1000} s for ${text}`);
}

/** The output of a program, line by line. */
export class Lines {
  readonly all: string[] = [];
  readonly #waiters = new Waiters();

  read(stream: Readable): void {
    const lines = createInterface({ input: stream }).on('line', (line) => this.add(line));
    // The pipe of a killed process may be reset, even after the test that killed it.
    lines.on('error', () => undefined);
  }

  add(line: string): void {
    this.all.push(line);
    this.#waiters.changed();
  }

  /** Resolves to the first line with the text, from line `from` on. */
  async next(text: string | RegExp, from = this.all.length, timeoutMs = WAIT_MS): Promise<string> {
    let at = from;
    const found = () => {
      for (; at < this.all.length; at++) if (has(this.all[at], text)) return true;
      return false;
    };
    const what = () =>
      `the line ${text}; the last lines:\n${this.all.slice(-LAST_LINES).join('\n')}`;
    await this.#waiters.until(found, what, timeoutMs);
    return this.all[at] ?? '';
  }

  count(text: string | RegExp): number {
    return this.all.filter((line) => has(line, text)).length;
  }
}

function has(line: string | undefined, text: string | RegExp): boolean {
  return typeof text === 'string' ? line?.includes(text) === true : text.test(line ?? '');
}

const AT_A_TIME = 32;

/** Makes this many of something, a few at a time: all at once is a load that no site sees. */
export function times<T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> {
  return each(
    Array.from({ length: count }, (_, index) => index),
    make,
  );
}

/** Works on all items, a few at a time. */
export async function each<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  // The workers share it: each takes the next item.
  const queue = items.entries();
  const worker = async () => {
    for (const [index, item] of queue) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
  return results;
}
