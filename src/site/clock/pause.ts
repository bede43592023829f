import { setTimeout } from 'node:timers/promises';

/** Resolves after the duration, or at the signal, so that no pause delays a stop. */
export async function pause(durationMs: number, signal: AbortSignal): Promise<void> {
  await setTimeout(durationMs, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}

/** Resolves to the answer, or to undefined after the timeout, so an absent store delays nobody for longer. */
export async function within<T>(answer: Promise<T>, durationMs: number): Promise<T | undefined> {
  const waiting = new AbortController();
  const late = pause(durationMs, waiting.signal).then(() => undefined);
  return Promise.race([answer, late]).finally(() => waiting.abort());
}
