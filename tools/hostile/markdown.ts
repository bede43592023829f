import type { Attack } from './attack.js';
import type { Result } from './result.js';

const MIB = 1024 * 1024;
const HEAD = [
  'attack',
  'finding',
  'what the attacker does',
  'lost',
  'p99',
  'slowest',
  'gateway + store',
  'files',
  'log',
  'named',
  'Mosquitto: lost, p99',
];

/** The table of docs/reports/attacks.md: a row for each attack, with Mosquitto next to it if it was run. */
export function markdownOf(results: readonly Result[], attacks: readonly Attack[]): string {
  const rows = results
    .filter(({ peer }) => peer === 'gateway')
    .map((result) => {
      const { attack: name } = result;
      const attack = attacks.find((one) => one.name === name);
      const peer = results.find((one) => one.peer === 'mosquitto' && one.attack === name);
      return [
        name === undefined ? 'none' : `\`${name}\``,
        attack?.finding ?? '',
        attack?.what ?? '',
        String(result.lost + result.unacknowledged),
        milliseconds(result.p99Ms),
        milliseconds(result.maxMs),
        `${result.maxResidentBytes.map((bytes) => Math.round(bytes / MIB)).join(' + ')} MiB`,
        String(Math.max(...result.maxDescriptors)),
        `${Math.round(result.loggedBytes / 1024)} KiB`,
        namedIn(result, attack),
        peer === undefined ? '' : `${peer.lost + peer.unacknowledged}, ${milliseconds(peer.p99Ms)}`,
      ];
    });
  const lines = [HEAD, HEAD.map(() => '---'), ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}

function milliseconds(ms: number): string {
  return Number.isNaN(ms) ? 'none came' : `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;
}

function namedIn({ namedBy }: Result, attack: Attack | undefined): string {
  if (namedBy !== undefined) return 'yes';
  return attack === undefined || attack.isUnnamed ? '' : 'no';
}
