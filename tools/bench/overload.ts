import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type OverloadResult, runOverload } from '../../test/former/overload.js';
import type { OverloadCase } from '../../test/former/overload-ward.js';
import { table, times } from './report.js';

const SECOND_MS = 1000;
const QUIET_MS = 2 * SECOND_MS;
const SATURATION_MS = 10 * SECOND_MS;
const RECOVERY_MS = 30 * SECOND_MS;
const MIN_RATIO = 0.8;
const MAX_PROBE_P99_MS = 250;
const RECOVERED_WITHIN_MS = 1 * SECOND_MS;
const MIB = 1024 * 1024;

const MATRIX: readonly OverloadCase[] = (['alarms', 'telemetry'] as const).flatMap((kind) =>
  ([1, 2] as const).flatMap((qos) =>
    (['clean', 'durable'] as const).flatMap((session) =>
      [1, 5].map((readers) => ({ kind, qos, session, readers })),
    ),
  ),
);
const QUICK: readonly string[] = [
  'alarms-qos1-durable-1',
  'alarms-qos2-clean-5',
  'telemetry-qos1-durable-1',
  'telemetry-qos2-durable-5',
];

interface Measured {
  readonly name: string;
  readonly result: OverloadResult;
}

/** Measures what readers receive while devices offer three times the saturation. */
export async function overload(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: 'string' },
      quick: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      json: { type: 'string' },
    },
  });
  const seconds = Number(values.seconds ?? (values.quick ? 8 : 60));
  const saturationMs = values.quick ? SATURATION_MS / 2 : SATURATION_MS;
  const duration = {
    quietMs: QUIET_MS,
    saturationMs,
    offeredMs: seconds * SECOND_MS,
    recoveryMs: RECOVERY_MS,
  };
  const measured: Measured[] = [];
  for (const one of MATRIX) {
    const name = nameOf(one);
    if (values.quick && !QUICK.includes(name)) continue;
    if (values.only.length > 0 && !values.only.some((part) => name.includes(part))) continue;
    measured.push({ name, result: await runOverload(one, duration) });
    console.log(`  ${name}: ${measured.length} measured`);
  }
  show(measured, seconds);
  if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(measured, null, 2));
}

function nameOf({ kind, qos, session, readers }: OverloadCase): string {
  return `${kind}-qos${qos}-${session}-${readers}`;
}

function show(measured: readonly Measured[], seconds: number): void {
  table(`What readers receive when three times the saturation is offered for ${seconds} s`, [
    [
      'messages/s',
      'saturation',
      '(after)',
      'acked',
      'offered',
      'acked',
      'mean',
      'median',
      'min',
      'ratio',
    ],
    ...measured.map(ratesRow),
  ]);
  table('The effect on everything else', [
    ['', 'quiet probe p99', 'probe p50', 'p99', 'lost', 'memory', 'closed', 'level', 'quick'],
    ...measured.map(effectsRow),
  ]);
  const all = measured.map(({ result }) => result);
  verdict(
    `each reader at least ${MIN_RATIO} of saturation`,
    all.every((one) => ratioOf(one) >= MIN_RATIO),
  );
  verdict(
    'no connection closed',
    all.every((one) => one.closedConnections === 0),
  );
  verdict(
    `alarms of others p99 under ${MAX_PROBE_P99_MS} ms`,
    all.every((one) => one.probe.p99Ms < MAX_PROBE_P99_MS),
  );
  verdict('back to normal a second after the end', all.every(isSoonOver));
  verdict('everything in order, and every alarm received', measured.every(isComplete));
}

function ratesRow({ name, result }: Measured): string[] {
  const slowest = (of: (reader: OverloadResult['readers'][number]) => number) =>
    Math.min(...result.readers.map(of));
  const rates = [
    result.saturationPerSecond,
    result.saturationAfterPerSecond ?? Number.NaN,
    result.acknowledgedAtSaturationPerSecond,
    result.offeredPerSecond,
    result.acknowledgedPerSecond,
    slowest(({ meanPerSecond }) => meanPerSecond),
    slowest(({ medianPerSecond }) => medianPerSecond),
    slowest(({ minPerSecond }) => minPerSecond),
  ];
  return [name, ...rates.map((rate) => rate.toFixed(0)), times(ratioOf(result))];
}

function effectsRow({ name, result }: Measured): string[] {
  const { probe, quietProbe, recovery } = result;
  const mebibytes = (bytes: number) => (bytes / MIB).toFixed(0);
  const after = (ms: number | null) => (ms === null ? 'not' : `${(ms / SECOND_MS).toFixed(1)} s`);
  return [
    name,
    `${quietProbe.p99Ms.toFixed(0)} ms`,
    `${probe.p50Ms.toFixed(0)} ms`,
    `${probe.p99Ms.toFixed(0)} ms`,
    String(result.missingProbes),
    `${mebibytes(result.residentBytesBefore)} → ${mebibytes(result.peakResidentBytes)} MiB`,
    String(result.closedConnections),
    after(recovery.levelMs),
    after(recovery.quickMs),
  ];
}

/** The ratio of the slowest reader. */
function ratioOf({ readers, saturationPerSecond }: OverloadResult): number {
  return Math.min(...readers.map(({ meanPerSecond }) => meanPerSecond)) / saturationPerSecond;
}

function isSoonOver({ recovery: { levelMs, quickMs } }: OverloadResult): boolean {
  if (levelMs === null || quickMs === null) return false;
  return Math.max(levelMs, quickMs) < RECOVERED_WITHIN_MS;
}

/** Telemetry may be dropped. */
function isComplete({ name, result: { report, missingProbes } }: Measured): boolean {
  const mayDrop = name.startsWith('telemetry');
  return (
    missingProbes === 0 &&
    report.readers.every(
      ({ outOfOrder, isLevel, missing }) =>
        outOfOrder === 0 && (mayDrop || (isLevel && missing === 0)),
    )
  );
}

function verdict(target: string, isMet: boolean): void {
  console.log(`  target: ${target}: ${isMet ? 'met' : 'MISSED'}`);
}
