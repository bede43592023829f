import { pause } from '../site/clock/pause.js';

const BACKOFF_MS = 1_000;

export interface RetryOptions {
  /** Ends the attempts. */
  readonly signal: AbortSignal;
  readonly onFailure: (error: unknown) => void;
}

/** Repeats an attempt until it succeeds or the signal aborts. Resolves to whether it succeeded. */
export async function retry(
  attempt: () => Promise<unknown>,
  { signal, onFailure }: RetryOptions,
): Promise<boolean> {
  while (!signal.aborted) {
    try {
      await attempt();
      return true;
    } catch (error) {
      onFailure(error);
      await pause(BACKOFF_MS, signal);
    }
  }
  return false;
}
