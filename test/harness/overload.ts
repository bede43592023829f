import { setTimeout as delay } from 'node:timers/promises';
import type { Report } from './load/plan.js';
import type { Account } from './metrics.js';
import { type OverloadCase, OverloadWard } from './overload-ward.js';

const SATURATION_WINDOW = 10;
/** Fewer than there are packet identifiers: a device beyond it has only its socket to slow it. */
const UNLIMITED_WINDOW = 60_000;
const TIMES_OFFERED = 3;
const PROBES_PER_SECOND = 100;
const FRESH_ALARM_WITHIN_MS = 50;
const FRESH_ALARMS_MS = 200;
const LOOK_EVERY_MS = 50;
const SECOND_MS = 1000;

export interface OverloadTimes {
  readonly saturationMs: number;
  readonly offeredMs: number;
  /** How long the end of the overload is waited for. */
  readonly recoveryMs: number;
}

export interface ReaderRates {
  readonly meanPerSecond: number;
  readonly medianPerSecond: number;
  readonly minPerSecond: number;
}

/** How long after the end of the offer; null: not within the time that there was. */
export interface Recovery {
  /** All that the devices' sockets still held is acknowledged. */
  readonly acknowledgedMs: number | null;
  /** The readers have the newest of each device, and `/metrics` shows nothing queued. */
  readonly levelMs: number | null;
  /** A fresh alarm is quick again. */
  readonly quickMs: number | null;
}

export interface OverloadResult {
  /** Received by the slowest reader while few publishes are under way to the readers at a time. */
  readonly saturationPerSecond: number;
  /** The same once more, after the overload; null when not all clients are connected any more. */
  readonly saturationAfterPerSecond: number | null;
  /** Acknowledged to the devices meanwhile. */
  readonly acknowledgedAtSaturationPerSecond: number;
  readonly offeredPerSecond: number;
  readonly acknowledgedPerSecond: number;
  readonly readers: readonly ReaderRates[];
  readonly probe: { readonly p50Ms: number; readonly p99Ms: number; readonly missing: number };
  readonly residentBytesBefore: number;
  readonly peakResidentBytes: number;
  readonly closedConnections: number;
  readonly recovery: Recovery;
  /** After the recovery, for each durable reader. */
  readonly accounts: readonly Account[];
  readonly report: Report;
}

/** Offers three times what the gateway forwards at saturation, and measures what becomes of it. */
export async function runOverload(
  overload: OverloadCase,
  times: OverloadTimes,
): Promise<OverloadResult> {
  const ward = await OverloadWard.open(overload);
  try {
    return await measure(ward, times);
  } finally {
    await ward.close();
  }
}

async function measure(ward: OverloadWard, times: OverloadTimes): Promise<OverloadResult> {
  const saturation = await saturate(ward, times);
  const residentBytesBefore = await ward.peakResidentBytes();
  const offeredPerSecond = TIMES_OFFERED * saturation.receivedPerSecond;
  const { load, probe } = ward;
  const before = await load.report();
  const durationMs = times.offeredMs;
  const [during, probed] = await Promise.all([
    load.offer({ perSecond: offeredPerSecond, window: UNLIMITED_WINDOW, durationMs }),
    probe.offer({ perSecond: PROBES_PER_SECOND, window: UNLIMITED_WINDOW, durationMs }),
  ]);
  const recovery = await recover(ward, times.recoveryMs);
  const [report, probeReport] = [await load.report(), await probe.report()];
  const accounts = await ward.accounts();
  const peakResidentBytes = await ward.peakResidentBytes();
  const closedConnections = closedIn(report) + closedIn(probeReport);
  const after = closedConnections > 0 ? null : await saturate(ward, times);
  const [probeReader] = probed.readers;
  return {
    saturationPerSecond: saturation.receivedPerSecond,
    saturationAfterPerSecond: after?.receivedPerSecond ?? null,
    acknowledgedAtSaturationPerSecond: saturation.acknowledgedPerSecond,
    offeredPerSecond,
    acknowledgedPerSecond: (during.acknowledged - before.acknowledged) / (durationMs / SECOND_MS),
    readers: during.readers.map(({ perSecond }) => ratesOf(fullSeconds(perSecond, durationMs))),
    probe: {
      p50Ms: probeReader?.latencyMs.p50 ?? Number.NaN,
      p99Ms: probeReader?.latencyMs.p99 ?? Number.NaN,
      missing: probeReport.sent - (probeReport.readers[0]?.received ?? 0),
    },
    residentBytesBefore,
    peakResidentBytes,
    closedConnections,
    recovery,
    accounts,
    report,
  };
}

async function saturate({ load }: OverloadWard, { saturationMs, recoveryMs }: OverloadTimes) {
  const before = await load.report();
  const report = await load.offer({
    ...{ window: SATURATION_WINDOW, underWayTo: 'readers', durationMs: saturationMs },
  });
  const rates = report.readers.map(({ perSecond }) =>
    ratesOf(fullSeconds(perSecond, saturationMs)),
  );
  await elapsedUntil(recoveryMs, async () => isLevel(await load.report()));
  return {
    receivedPerSecond: Math.min(...rates.map(({ meanPerSecond }) => meanPerSecond)),
    acknowledgedPerSecond: (report.acknowledged - before.acknowledged) / (saturationMs / SECOND_MS),
  };
}

/** Without the first, in which the load sets in; those in which nothing came are seconds as well. */
function fullSeconds(perSecond: readonly number[], durationMs: number): number[] {
  const seconds = Math.floor(durationMs / SECOND_MS);
  return Array.from({ length: seconds - 1 }, (_, index) => perSecond[index + 1] ?? 0);
}

function ratesOf(perSecond: readonly number[]): ReaderRates {
  const sorted = [...perSecond].sort((one, other) => one - other);
  const total = perSecond.reduce((sum, count) => sum + count, 0);
  return {
    meanPerSecond: total / perSecond.length,
    medianPerSecond: sorted[Math.floor(sorted.length / 2)] ?? 0,
    minPerSecond: sorted[0] ?? 0,
  };
}

async function recover(ward: OverloadWard, withinMs: number): Promise<Recovery> {
  const { load, probe } = ward;
  const beganMs = performance.now();
  const after = async (condition: () => Promise<boolean>) => {
    const leftMs = withinMs - (performance.now() - beganMs);
    const elapsed = await elapsedUntil(leftMs, condition);
    return elapsed === null ? null : performance.now() - beganMs;
  };
  const acknowledgedMs = await after(async () => isAcknowledged(await load.report()));
  const levelMs = await after(async () => {
    if (!isLevel(await load.report())) return false;
    return (await ward.accounts()).every(({ queued }) => queued === 0);
  });
  const quickMs = await after(async () => {
    const offer = { perSecond: PROBES_PER_SECOND, window: UNLIMITED_WINDOW };
    await probe.offer({ ...offer, durationMs: FRESH_ALARMS_MS });
    await elapsedUntil(withinMs, async () => isLevel(await probe.report()));
    const [reader] = (await probe.report()).readers;
    return reader !== undefined && reader.latencyMs.max < FRESH_ALARM_WITHIN_MS;
  });
  return { acknowledgedMs, levelMs, quickMs };
}

/** How long it took until the condition held; null when it did not in time. */
async function elapsedUntil(withinMs: number, condition: () => Promise<boolean>) {
  const beganMs = performance.now();
  while (!(await condition())) {
    if (performance.now() - beganMs > withinMs) return null;
    await delay(LOOK_EVERY_MS);
  }
  return performance.now() - beganMs;
}

function isAcknowledged({ unacknowledged }: Report): boolean {
  return unacknowledged === 0;
}

function isLevel(report: Report): boolean {
  return isAcknowledged(report) && report.readers.every((reader) => reader.isLevel);
}

function closedIn({ closedDevices, readers }: Report): number {
  return closedDevices + readers.filter(({ wasClosed }) => wasClosed).length;
}
