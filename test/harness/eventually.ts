import { vi } from 'vitest';

/** Retries the check until it passes. How long that takes is no bound: a machine may stall. */
export async function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(check, { timeout: 30_000, interval: 25 });
}
