import { setTimeout as delay } from 'node:timers/promises';
import type { Report } from '../harness/load/plan.js';
import type { Account } from './metrics.js';
import { type OverloadCase, OverloadWard } from './overload-ward.js';

const SATURATION_WINDOW = 10;
/** Fewer than there are packet identifiers: with this window only the socket slows a device. */
const UNLIMITED_WINDOW = 60_000;
const TIMES_OFFERED = 3;
const PROBING = { perSecond: 100, window: UNLIMITED_WINDOW } as const;
const STILL_FOR_MS = 500;
const FRESH_ALARM_WITHIN_MS = 50;
const FRESH_ALARMS_MS = 200;
const LOOK_EVERY_MS = 50;
const SECOND_MS = 1000;

export interface OverloadTimes {
  readonly quietMs: number;
  readonly saturationMs: number;
  readonly offeredMs: number;
  /** Time to wait for the recovery. */
  readonly recoveryMs: number;
}

export interface ReaderRates {
  readonly meanPerSecond: number;
  readonly medianPerSecond: number;
  readonly minPerSecond: number;
}

/** Times after the end of the overload; null if not reached in time. */
export interface Recovery {
  /** When the readers have everything, and `/metrics` shows nothing queued. */
  readonly levelMs: number | null;
  /** When all fresh alarms of other devices are quick again. */
  readonly quickMs: number | null;
}

export interface ProbeResult {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface OverloadResult {
  /** Rate of the slowest reader while few publishes are on their way to the readers. */
  readonly saturationPerSecond: number;
  /** The saturation after the overload; null if the gateway did not recover or it was not measured. */
  readonly saturationAfterPerSecond: number | null;
  /** Rate of acknowledgements to devices at saturation. */
  readonly acknowledgedAtSaturationPerSecond: number;
  readonly offeredPerSecond: number;
  readonly acknowledgedPerSecond: number;
  readonly readers: readonly ReaderRates[];
  /** The probe without load, as a measure of the machine. */
  readonly quietProbe: ProbeResult;
  readonly probe: ProbeResult;
  readonly missingProbes: number;
  readonly residentBytesBefore: number;
  readonly peakResidentBytes: number;
  readonly closedConnections: number;
  readonly recovery: Recovery;
  /** Accounts of the durable readers after the recovery. */
  readonly accounts: readonly Account[];
  readonly report: Report;
}

/**
 * Offers three times the load that the gateway forwards at saturation, and measures.
 *
 * @param isMeasuredAgain whether to measure the saturation again afterwards
 */
export async function runOverload(
  overload: OverloadCase,
  times: OverloadTimes,
  isMeasuredAgain = true,
): Promise<OverloadResult> {
  const ward = await OverloadWard.open(overload);
  try {
    return await measure(ward, times, isMeasuredAgain);
  } finally {
    await ward.close();
  }
}

async function measure(
  ward: OverloadWard,
  times: OverloadTimes,
  isMeasuredAgain: boolean,
): Promise<OverloadResult> {
  const { load, probe } = ward;
  const quiet = await probe.offer({ ...PROBING, durationMs: times.quietMs });
  const saturation = await saturate(ward, times);
  const residentBytesBefore = await ward.peakResidentBytes();
  const offeredPerSecond = TIMES_OFFERED * saturation.receivedPerSecond;
  const before = await load.report();
  const durationMs = times.offeredMs;
  const [during, probed] = await Promise.all([
    load.offer({ perSecond: offeredPerSecond, window: UNLIMITED_WINDOW, durationMs }),
    probe.offer({ ...PROBING, durationMs }),
  ]);
  // Otherwise the load would end only once the kernel has sent everything offered.
  await load.powerOff();
  const recovery = await recover(ward, times.recoveryMs);
  const [report, probeReport] = [await load.report(), await probe.report()];
  const accounts = await ward.accounts();
  const peakResidentBytes = await ward.peakResidentBytes();
  const readers = during.readers.map(({ perSecond }) =>
    ratesOf(fullSeconds(perSecond, durationMs)),
  );
  const isDue = isMeasuredAgain && recovery.levelMs !== null;
  const after = isDue ? await saturateAgain(ward, times) : null;
  return {
    saturationPerSecond: saturation.receivedPerSecond,
    saturationAfterPerSecond: after,
    acknowledgedAtSaturationPerSecond: saturation.acknowledgedPerSecond,
    offeredPerSecond,
    acknowledgedPerSecond: (during.acknowledged - before.acknowledged) / (durationMs / SECOND_MS),
    readers,
    quietProbe: probeResult(quiet),
    probe: probeResult(probed),
    missingProbes: probeReport.sent - (probeReport.readers[0]?.received ?? 0),
    residentBytesBefore,
    peakResidentBytes,
    closedConnections:
      during.closedDevices + probeReport.closedDevices + closedReaders(report, probeReport),
    recovery,
    accounts,
    report,
  };
}

function probeResult({ readers: [reader] }: Report): ProbeResult {
  const { p50 = Number.NaN, p99 = Number.NaN } = reader?.latencyMs ?? {};
  return { p50Ms: p50, p99Ms: p99 };
}

async function saturateAgain(ward: OverloadWard, times: OverloadTimes): Promise<number> {
  await ward.load.powerOn();
  return (await saturate(ward, times)).receivedPerSecond;
}

async function saturate(ward: OverloadWard, { saturationMs, recoveryMs }: OverloadTimes) {
  const { load } = ward;
  const before = await load.report();
  const report = await load.offer({
    window: SATURATION_WINDOW,
    underWayTo: 'readers',
    durationMs: saturationMs,
  });
  const rates = report.readers.map(({ perSecond }) =>
    ratesOf(fullSeconds(perSecond, saturationMs)),
  );
  await levelAfter(ward, recoveryMs);
  return {
    receivedPerSecond: Math.min(...rates.map(({ meanPerSecond }) => meanPerSecond)),
    acknowledgedPerSecond: (report.acknowledged - before.acknowledged) / (saturationMs / SECOND_MS),
  };
}

/** The full seconds except the first, in which the load sets in; empty seconds count. */
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
  const [levelMs, quickMs] = await Promise.all([
    levelAfter(ward, withinMs),
    elapsedUntil(withinMs, () => isQuick(ward)),
  ]);
  return { levelMs, quickMs };
}

/** The time until nothing was queued and nothing arrived any more; null: not in time. */
async function levelAfter(ward: OverloadWard, withinMs: number): Promise<number | null> {
  const beganMs = performance.now();
  let changedMs = beganMs;
  let received = -1;
  while (performance.now() - changedMs < STILL_FOR_MS) {
    if (performance.now() - beganMs > withinMs) return null;
    const report = await ward.load.report();
    const isEmpty = (await ward.accounts()).every(({ queued }) => queued === 0);
    const isComplete = ward.mayDrop || isLevel(report);
    const now = report.readers.reduce((sum, reader) => sum + reader.received, 0);
    if (now !== received || !isEmpty || !isComplete) changedMs = performance.now();
    received = now;
    await delay(LOOK_EVERY_MS);
  }
  return changedMs - beganMs;
}

/** Whether fresh alarms of other devices are as quick as ever. */
async function isQuick({ probe }: OverloadWard): Promise<boolean> {
  await probe.offer({ ...PROBING, durationMs: FRESH_ALARMS_MS });
  await elapsedUntil(SECOND_MS, async () => isLevel(await probe.report()));
  const report = await probe.report();
  const [reader] = report.readers;
  return reader !== undefined && isLevel(report) && reader.latencyMs.max < FRESH_ALARM_WITHIN_MS;
}

/** The time until the condition held; null if not in time. */
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

function closedReaders(...reports: readonly Report[]): number {
  return reports.flatMap(({ readers }) => readers).filter(({ wasClosed }) => wasClosed).length;
}
