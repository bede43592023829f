import { quantile } from '../bench/report.js';
import type { Surface } from './attack.js';
import type { Alarm, Attempt, Observations } from './ward/plan.js';

/** How late an alarm may be at p99 during an attack (issue: fair to everyone). */
export const MAX_P99_MS: Readonly<Record<Surface, number>> = { mqtt: 100, http: 250, tls: 250 };
const SECOND_MS = 1_000;

export interface Latencies {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** The latencies of alarms to both subscribers, or only to the live one. */
export function latenciesOf(alarms: readonly Alarm[], isDurableAway: boolean): Latencies {
  const delays = alarms.flatMap(({ sentMs, liveMs, durableMs }) => [
    ...(liveMs === null ? [] : [liveMs - sentMs]),
    ...(durableMs === null || isDurableAway ? [] : [durableMs - sentMs]),
  ]);
  return {
    p50Ms: quantile(delays, 0.5),
    p99Ms: quantile(delays, 0.99),
    maxMs: quantile(delays, 1),
  };
}

/** Whether each of the last full seconds had a normal p99. */
export function isCalm(
  { alarms, nowMs }: Observations,
  maxP99Ms: number,
  seconds: number,
): boolean {
  const from = nowMs - (seconds + 1) * SECOND_MS;
  return lateSeconds(alarms, from, nowMs - SECOND_MS, maxP99Ms).length === 0;
}

/** How long after an instant the last second with a late p99 ended; 0 if there was none. */
export function calmAfterMs(alarms: readonly Alarm[], sinceMs: number, maxP99Ms: number): number {
  const last = alarms.at(-1)?.sentMs ?? sinceMs;
  const late = lateSeconds(alarms, sinceMs, last, maxP99Ms);
  const end = late.at(-1);
  return end === undefined ? 0 : end + SECOND_MS - sinceMs;
}

/** The starts of the seconds of publishing whose p99 was late or whose alarms are still missing. */
function lateSeconds(
  alarms: readonly Alarm[],
  fromMs: number,
  toMs: number,
  maxP99Ms: number,
): number[] {
  const late: number[] = [];
  for (let from = fromMs; from < toMs; from += SECOND_MS) {
    const within = alarms.filter(({ sentMs }) => sentMs >= from && sentMs < from + SECOND_MS);
    const isWaiting = within.some(({ liveMs }) => liveMs === null);
    const delays = within.map(({ sentMs, liveMs }) => (liveMs ?? sentMs) - sentMs);
    if (isWaiting || quantile(delays, 0.99) > maxP99Ms) late.push(from);
  }
  return late;
}

export interface Losses {
  /** Acknowledged to the device, but not received by both subscribers. */
  readonly lost: number;
  readonly unacknowledged: number;
}

export function lossesOf(alarms: readonly Alarm[]): Losses {
  const acknowledged = alarms.filter(({ acknowledgedMs }) => acknowledgedMs !== null);
  return {
    lost: acknowledged.filter(({ liveMs, durableMs }) => liveMs === null || durableMs === null)
      .length,
    unacknowledged: alarms.length - acknowledged.length,
  };
}

export interface Attempts {
  readonly tried: number;
  readonly failed: number;
  readonly maxMs: number;
  /** The first failure in words. */
  readonly failure: string | null;
}

export function attemptsOf(attempts: readonly Attempt[]): Attempts {
  const failures = attempts.filter(({ failure }) => failure !== null);
  return {
    tried: attempts.length,
    failed: failures.length,
    maxMs: Math.max(0, ...attempts.map(({ tookMs }) => tookMs)),
    failure: failures[0]?.failure ?? null,
  };
}
