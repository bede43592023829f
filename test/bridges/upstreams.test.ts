/**
 * Bridges against real and faulty upstream brokers: the rows of `upstreams.ts`. All rows share a gateway; the most wait
 * for their own upstream side by side.
 */
import { retryDelayMs } from '../../src/bridge/connection-failure.js';
import { HANG_UP_LIMITS } from '../../src/bridge/hang-ups.js';
import { expect, type Home, it, NO_LIMITS, type Own, testWith } from '../harness/index.js';
import { Bridges, HANG_UPS, ROWS, Run, type UpstreamRow } from './upstreams.js';

/** Pauses of a bridge: from its shortest backoff to the longest after a passing failure. */
const [SHORTEST_PAUSE_MS, LONGEST_PAUSE_MS, TIMES_AS_FAST] = [250, 10_000, 40];

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
  const setTimer = globalThis.setTimeout;
  const hurried = (work: (...values: unknown[]) => void, ms = 0, ...values: unknown[]) => {
    const isPause = ms >= SHORTEST_PAUSE_MS && ms <= LONGEST_PAUSE_MS;
    return setTimer(work, isPause ? ms / TIMES_AS_FAST : ms, ...values);
  };
  globalThis.setTimeout = Object.assign(hurried, setTimer);
  const limits = { ...HANG_UP_LIMITS };
  Object.assign(HANG_UP_LIMITS, { minDurationMs: 0 });
  own.onEnd(() => {
    globalThis.setTimeout = setTimer;
    Object.assign(HANG_UP_LIMITS, limits);
  });
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
