import { setTimeout } from 'node:timers/promises';

/** Resolves after the duration, or at the signal, so that no pause delays a stop. */
export async function pause(durationMs: number, signal: AbortSignal): Promise<void> {
  await setTimeout(durationMs, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}
