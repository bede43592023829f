import { setTimeout as delay } from 'node:timers/promises';

const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS, LONGER] = [20, 200, 1.5];

/** Pauses between checks, each longer than the last: a check takes processor time from what it waits for. */
export class Pauses {
  #nextMs = FIRST_PAUSE_MS;

  async pause(): Promise<void> {
    const pauseMs = this.#nextMs;
    this.#nextMs = Math.min(LONGER * pauseMs, LONGEST_PAUSE_MS);
    await delay(pauseMs);
  }
}

/** Resolves once the condition holds; for states that other programs tell only when asked. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  timeoutMs = 120_000,
): Promise<void> {
  const giveUpAt = performance.now() + timeoutMs;
  const pauses = new Pauses();
  while (!(await condition())) {
    if (performance.now() > giveUpAt) throw new Error(`${what} within ${timeoutMs} ms`);
    await pauses.pause();
  }
}
