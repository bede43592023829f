import type { Attack, Counts } from './attack.js';
import type { Site } from './gateway.js';
import type { Attempts, Observed } from './ward.js';

const MIB = 1024 * 1024;
/** Contract 4.4 and 4.5: whatever one client does, the alarms of the others reach the nurse within a second. */
const SECOND_MS = 1_000;
/** Of the gateway, and of its store. */
const MAX_RESIDENT_BYTES = 512 * MIB;
const MAX_DESCRIPTORS = 12_000;
const MAX_LOGGED_BYTES = 256 * 1024;

export interface Result {
  readonly name: string;
  readonly observed: Observed;
  readonly counts: Counts;
  readonly loggedBytes: number;
  readonly peak: Site['peak'];
  readonly namedBy: string | undefined;
  /** How the attack harmed others more than it may. */
  readonly misses: readonly string[];
}

export function missesOf(
  attack: Attack | undefined,
  { observed, counts, peak, loggedBytes, namedBy }: Omit<Result, 'misses'>,
): string[] {
  const { report, durableLost, newcomers, requests } = observed;
  const lost = lostIn(observed);
  const slowest = slowestMs(observed);
  const maxDescriptors = Math.min(
    MAX_DESCRIPTORS,
    (attack?.needs?.().maxOpenFiles ?? Infinity) - 1,
  );
  const resident = Math.max(...peak.residentBytes);
  const mustBeNamed = attack !== undefined && !attack.isUnnamed;
  const all: readonly (readonly [isMissed: boolean, text: string])[] = [
    [report.sent === 0, 'no alarm was published'],
    [lost > 0, `${lost} alarms lost, ${durableLost} of them while away`],
    [report.unacknowledged > 0, `${report.unacknowledged} alarms never acknowledged`],
    [report.closedDevices > 0, `${report.closedDevices} sensors disconnected`],
    [report.readers.some(({ wasClosed }) => wasClosed), 'a subscriber was disconnected'],
    [slowest > SECOND_MS, `an alarm took ${Math.round(slowest)} ms`],
    [newcomers.failed > 0, `${newcomers.failed} newcomers not served: ${newcomers.failure}`],
    [requests.failed > 0, `${requests.failed} requests failed: ${requests.failure}`],
    [resident > MAX_RESIDENT_BYTES, `${Math.round(resident / MIB)} MiB`],
    [peak.descriptors > maxDescriptors, `${peak.descriptors} files, at most ${maxDescriptors}`],
    [loggedBytes > MAX_LOGGED_BYTES, `${Math.round(loggedBytes / 1024)} KiB of log`],
    [mustBeNamed && namedBy === undefined, 'the attacker is not named'],
    [attack !== undefined && !isAsExpected(attack, counts), `not ${attack?.expects}`],
  ];
  return all.filter(([isMissed]) => isMissed).map(([, text]) => text);
}

function isAsExpected({ expects }: Attack, counts: Counts): boolean {
  const { opened = 0, closed = 0, refused = 0 } = counts;
  if (expects === 'closed') return closed > 0;
  if (expects === 'denied') return refused > 0;
  return opened > 0 && closed === 0;
}

function lostIn({ report, durableLost }: Observed): number {
  return durableLost + Math.max(0, ...report.readers.map(({ received }) => report.sent - received));
}

function slowestMs({ report }: Observed): number {
  return Math.max(...report.readers.map(({ latencyMs }) => latencyMs.max));
}

const COLUMNS = [
  ['attack', 28],
  ['lost', 5],
  ['p99 ms', 7],
  ['slowest', 8],
  ['newcomers', 10],
  ['board', 7],
  ['MiB', 9],
  ['files', 6],
  ['log KiB', 8],
  ['opened', 9],
  ['closed', 8],
  ['denied', 9],
  ['named', 6],
] as const;

export function headLine(): string {
  return lineOf(COLUMNS.map(([title]) => title));
}

/** The row of an attack in the table. */
export function rowOf(result: Result): string {
  const { name, observed, counts, peak, loggedBytes, namedBy, misses } = result;
  const { report, newcomers, requests } = observed;
  const cells = [
    name,
    lostIn(observed),
    Math.max(...report.readers.map(({ latencyMs }) => latencyMs.p99)).toFixed(1),
    slowestMs(observed).toFixed(0),
    servedOf(newcomers),
    servedOf(requests),
    peak.residentBytes.map((bytes) => Math.round(bytes / MIB)).join('+'),
    peak.descriptors,
    Math.round(loggedBytes / 1024),
    counts['opened'] ?? '',
    counts['closed'] ?? '',
    counts['refused'] ?? '',
    namedBy === undefined ? '' : 'yes',
  ];
  return `${lineOf(cells)}  ${misses.length === 0 ? 'holds' : `MISSED: ${misses.join('; ')}`}`;
}

function lineOf(cells: readonly (string | number)[]): string {
  return COLUMNS.map(([, width], at) => {
    const text = String(cells[at] ?? '');
    return at === 0 ? text.padEnd(width) : text.padStart(width);
  }).join(' ');
}

function servedOf({ tried, failed }: Attempts): string {
  return `${tried - failed}/${tried}`;
}
