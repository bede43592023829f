import { afterAll, beforeAll, vi } from 'vitest';

const HURRIED_FROM_MS = 1_000;
const TIMES_AS_OFTEN = 10;
const MAX_MS = 200;

/**
 * Speeds up the intervals of the gateways in the test's process, for all tests of the file.
 *
 * Intervals of a second or more run ten times as often, and at least five times a second, even those of an hour.
 */
export function hurryIntervals(): void {
  beforeAll(() => {
    const { setInterval } = globalThis;
    vi.spyOn(globalThis, 'setInterval').mockImplementation((work, ms = 0, ...values) =>
      setInterval(
        work,
        ms >= HURRIED_FROM_MS ? Math.min(ms / TIMES_AS_OFTEN, MAX_MS) : ms,
        ...values,
      ),
    );
  });
  afterAll(() => {
    vi.mocked(globalThis.setInterval).mockRestore();
  });
}
