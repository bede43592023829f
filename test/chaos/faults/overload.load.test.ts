import { expect, it } from 'vitest';
import { type OverloadResult, runOverload } from '../../former/overload.js';
import type { OverloadCase } from '../../former/overload-ward.js';

/** Of what the gateway takes in meanwhile; the bench demands 0.8 of the rate at saturation. */
const MIN_RATIO = 0.2;
/** Memory that an overload may add: for 50 devices, and messages on their way to the reader. */
const MAX_ADDED_BYTES = 256 * 1024 * 1024;
const TIMES = { quietMs: 500, saturationMs: 3_000, offeredMs: 4_000, recoveryMs: 30_000 };

/** One of the sixteen cases of `npm run bench -- overload`. */
const CASE: OverloadCase = { kind: 'telemetry', qos: 1, session: 'durable', readers: 1 };

function check(result: OverloadResult): void {
  const text = JSON.stringify(result);
  expect(result.closedConnections, text).toBe(0);
  const { report, accounts } = result;
  expect(result.recovery.levelMs, text).not.toBeNull();
  for (const { outOfOrder } of report.readers) expect(outOfOrder, text).toBe(0);
  for (const [index, account] of accounts.entries()) {
    const { received, missing = 0 } = report.readers[index] ?? {};
    const { accepted, delivered, dropped } = account;
    expect(account, text).toMatchObject({ delivered: received, queued: 0, expired: 0 });
    expect(accepted, text).toBe(delivered + dropped);
    expect(accepted, text).toBeGreaterThanOrEqual(report.acknowledged);
    // A device's newest may be missing too, with nothing after it to show the gap.
    expect(dropped, text).toBeGreaterThanOrEqual(missing);
  }

  // Both rates are of the same seconds, so other work on the machine slows both equally.
  const least = MIN_RATIO * result.acknowledgedPerSecond;
  expect(least, text).toBeGreaterThan(0);
  for (const { meanPerSecond } of result.readers) {
    expect(meanPerSecond, text).toBeGreaterThanOrEqual(least);
  }
  expect(result.missingProbes, text).toBe(0);
  const addedBytes = result.peakResidentBytes - result.residentBytesBefore;
  expect(addedBytes, text).toBeLessThan(MAX_ADDED_BYTES);
}

it('guarantee 6: three times the telemetry that can be forwarded disconnects nobody, starves no subscriber that reads and loses no alarm of others', async () => {
  check(await runOverload(CASE, TIMES, false));
});
