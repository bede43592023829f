import { setTimeout } from 'node:timers/promises';

const WAIT_MS = 30_000;

/** Resolves when the condition, which may be a promise of one, holds. */
export async function until(condition, what) {
  const endMs = performance.now() + WAIT_MS;
  while (!(await condition())) {
    if (performance.now() > endMs) throw new Error(`never: ${what}`);
    await setTimeout(20);
  }
}
