import { afterAll, beforeAll, vi } from 'vitest';

const HURRIED_FROM_MS = 1_000;
const TIMES_AS_OFTEN = 10;
const MAX_MS = 200;

/**
 * Has the intervals of the gateways in the test's process come often, for all tests of the file.
 *
 * Those of a second or more come ten times as often, and all of them five times a second, also those of an hour.
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
