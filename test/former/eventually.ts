import { Pauses } from './until.js';

/** Retries the check until it passes. The timeout is not a performance bound: a machine may stall. */
export async function eventually<T>(check: () => T | Promise<T>, timeoutMs = 120_000): Promise<T> {
  const giveUpAt = performance.now() + timeoutMs;
  const pauses = new Pauses();
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > giveUpAt) throw error;
    }
    await pauses.pause();
  }
}
