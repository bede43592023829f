import { vi } from 'vitest';

/** Retries the check until it passes. How long that takes is no bound: a machine may stall. */
export async function eventually<T>(check: () => T | Promise<T>, timeoutMs = 120_000): Promise<T> {
  return vi.waitFor(check, { timeout: timeoutMs, interval: 25 });
}
