import { pause } from '../site/pause.js';

const RETRY_MS = 1_000;

/** Resolves before the next attempt, or at the signal. */
export function pauseBeforeRetry(signal: AbortSignal): Promise<void> {
  return pause(RETRY_MS, signal);
}
