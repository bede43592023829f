import { setTimeout } from 'node:timers/promises';

/** Resolves after so long, or at the signal: what waits must not hold up a stop. */
export async function pause(durationMs: number, signal: AbortSignal): Promise<void> {
  await setTimeout(durationMs, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}
