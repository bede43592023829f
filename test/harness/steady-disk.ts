import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** An alarm is stored before it is forwarded: it cannot be faster than the disk. */
const STALLED_MS = 150;
const MAX_RUNS = 3;
const PROBE_EVERY_MS = 10;

/** A measurement, and the longest that the machine's disk took to store one byte during it. */
interface Measured<Result> {
  readonly result: Result;
  readonly storeMs: number;
}

/**
 * Measures and checks; once more, and once more again, if the check fails and the disk stalled meanwhile.
 *
 * Such a run measures the machine. Some disks stall for a quarter of a second whoever writes; the bounds of
 * latency, which are no longer than that, stay as they are.
 */
export async function onSteadyDisk<Result>(
  measure: () => Promise<Result>,
  check: (result: Result, storeMs: number) => void,
): Promise<void> {
  for (let run = 1; ; run++) {
    const { result, storeMs } = await besideProbe(measure);
    try {
      return check(result, storeMs);
    } catch (failure) {
      if (storeMs < STALLED_MS || run === MAX_RUNS) throw failure;
    }
  }
}

async function besideProbe<Result>(measure: () => Promise<Result>): Promise<Measured<Result>> {
  const directory = await mkdtemp(join(tmpdir(), 'gateway-disk-probe-'));
  const measuring = new AbortController();
  const storing = longestStoreMs(join(directory, 'probe'), measuring.signal);
  try {
    const result = await measure();
    measuring.abort();
    return { result, storeMs: await storing };
  } finally {
    measuring.abort();
    await storing;
    await rm(directory, { recursive: true });
  }
}

async function longestStoreMs(path: string, ending: AbortSignal): Promise<number> {
  const file = await open(path, 'a');
  let longestMs = 0;
  while (!ending.aborted) {
    const startedMs = performance.now();
    await file.write('x');
    await file.datasync();
    longestMs = Math.max(longestMs, performance.now() - startedMs);
    await delay(PROBE_EVERY_MS);
  }
  await file.close();
  return longestMs;
}
