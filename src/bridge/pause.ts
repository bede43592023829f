import { setTimeout } from 'node:timers/promises';

const RETRY_MS = 1_000;

/** Resolves before the next attempt, or at the signal. */
export async function pauseBeforeRetry(signal: AbortSignal): Promise<void> {
  await setTimeout(RETRY_MS, undefined, { signal }).catch(() => undefined);
}
