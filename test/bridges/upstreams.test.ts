/**
 * Bridges against real and faulty upstream brokers: the rows of `upstreams.ts`. All rows share a gateway; the most wait
 * for their own upstream side by side.
 */
import { FAILURES, retryDelayMs } from '../../src/bridge/failures.js';
import { HANG_UP_LIMITS } from '../../src/bridge/suspects.js';
import { expect, type Home, it, NO_LIMITS, type Own, testWith } from '../harness/index.js';
import { Bridges, HANG_UPS, ROWS, Run, type UpstreamRow } from './upstreams.js';

/** A hurried bridge pauses for so much less. */
const TIMES_AS_FAST = 40;

const test = testWith({ env: { ...NO_LIMITS, GATEWAY_LOG_LEVEL: 'debug' } });

async function passes(row: UpstreamRow, name: string, home: Home, own: Own) {
  const run = new Run(home, own, name, row);
  try {
    await run.begin();
    for (const step of row.steps) await step(run);
    await run.settled();
  } finally {
    await Bridges.of(home.gateway).delete(name);
  }
}

ROWS.forEach((row, index) => {
  test.concurrent(row.name, { timeout: 60_000 }, async ({ home, own }) => {
    await passes(row, `row-${index}`, home, own);
  });
});

HANG_UPS.forEach((row, index) => {
  test(row.name, { timeout: 60_000 }, async ({ home, own }) => {
    hurry(own);
    await passes(row, `hang-ups-${index}`, home, own);
  });
});

/** Makes the pauses of a bridge short until the test ends, and suspects a message at once after ten hang-ups. */
function hurry(own: Own): void {
  const limits = { ...HANG_UP_LIMITS };
  Object.assign(HANG_UP_LIMITS, { minDurationMs: 0, maxHoldMs: limits.maxHoldMs / TIMES_AS_FAST });
  own.onEnd(() => Object.assign(HANG_UP_LIMITS, limits));
  for (const treatment of Object.values(FAILURES)) {
    const { firstRetryMs, maxRetryMs } = treatment;
    Object.assign(treatment, {
      firstRetryMs: firstRetryMs / TIMES_AS_FAST,
      maxRetryMs: maxRetryMs / TIMES_AS_FAST,
    });
    own.onEnd(() => Object.assign(treatment, { firstRetryMs, maxRetryMs }));
  }
}

it.each([
  ['unreachable', 1, 500],
  ['closed', 2, 1_000],
  ['silent', 5, 8_000],
  ['refused', 99, 10_000],
  ['credentials', 1, 5_000],
  ['tls', 3, 20_000],
  ['protocol', 99, 60_000],
] as const)('pauses after %s, attempt %i, for at most %i ms and at least half of it', (...row) => {
  const [kind, attempts, longestMs] = row;
  expect(retryDelayMs(kind, attempts, 0)).toBe(longestMs / 2);
  expect(retryDelayMs(kind, attempts, 1)).toBe(longestMs);
});
