import { table } from '../bench/report.js';
import type { Attempts } from './figures.js';
import type { Result } from './result.js';

const MIB = 1024 * 1024;
/** From here on the attacker itself limits the attack. */
const SATURATED_CORES = 0.9;
const HEAD = [
  'attack',
  'broker',
  'lost',
  'p50 ms',
  'p99 ms',
  'max ms',
  'calm after s',
  'newcomers',
  'requests',
  'MiB',
  'files',
  'log KiB',
  'cores',
  'attacker',
  'named',
  '',
];

/** Prints a row for each attack on each broker. */
export function printTable(results: readonly Result[]): void {
  table('Alarms of another home, from PUBLISH to delivery', [HEAD, ...results.map(rowOf)]);
  console.log('  attacker: * its own process saturates a core');
}

export function rowOf(result: Result): string[] {
  const { lost, unacknowledged, p50Ms, p99Ms, maxMs, attackerCores } = result;
  return [
    result.attack ?? 'quiet',
    result.peer,
    unacknowledged > 0 ? `${lost}+${unacknowledged}` : String(lost),
    ...[p50Ms, p99Ms, maxMs].map(milliseconds),
    (result.calmAfterMs / 1000).toFixed(0),
    failures(result.newcomers),
    failures(result.requests),
    result.maxResidentBytes.map((bytes) => Math.round(bytes / MIB)).join('+'),
    result.maxDescriptors.join('+'),
    String(Math.round(result.loggedBytes / 1024)),
    result.siteCores.map((cores) => cores.toFixed(1)).join('+'),
    `${attackerCores.toFixed(1)}${attackerCores > SATURATED_CORES ? '*' : ''}`,
    namedIn(result),
    result.misses.length === 0 ? 'holds' : 'MISSED',
  ];
}

function namedIn({ attack, peer, namedBy }: Result): string {
  if (attack === undefined || peer !== 'gateway') return '';
  return namedBy === undefined ? 'no' : 'yes';
}

function milliseconds(ms: number): string {
  return Number.isNaN(ms) ? 'none' : ms.toFixed(ms < 10 ? 1 : 0);
}

function failures({ tried, failed }: Attempts): string {
  return tried === 0 ? '' : `${tried - failed}/${tried}`;
}
