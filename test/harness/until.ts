import { setTimeout as delay } from 'node:timers/promises';

const LOOK_AGAIN_MS = 25;

/** Resolves once the condition holds, for what other programs tell only when asked. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  timeoutMs = 120_000,
): Promise<void> {
  const giveUpAt = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > giveUpAt) throw new Error(`${what} within ${timeoutMs} ms`);
    await delay(LOOK_AGAIN_MS);
  }
}
