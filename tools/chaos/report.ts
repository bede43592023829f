import type { Home } from '../../test/harness/home.js';
import type { Violation } from '../../test/harness/ledger.js';

const MAX_PRINTED = 20;

/** What a run found, and its figures for whoever reads them. */
export interface Report {
  readonly violations: readonly Violation[];
  readonly acknowledged: number;
  readonly lines: readonly string[];
}

/** The lines that both kinds of chaos have. */
export function linesOf(
  { ledger }: Home,
  own: readonly string[],
  violations: readonly Violation[],
): string[] {
  const { untellableRepeats: twice } = ledger;
  return [
    `alarms           ${ledger.count} published, ${ledger.acknowledgedCount} acknowledged`,
    ...ledger.destinations
      .filter(({ count }) => count > 0)
      .map(({ name, isDurable, count }) => {
        const what = `${isDurable ? 'durable' : 'live'}: ${count} received`;
        return `${shortened(name).padEnd(17)}${what}, of ${ledger.count}`;
      }),
    `recorded twice   ${twice} (without id, time and DUP: nothing tells them apart)`,
    ...own,
    ...violations.flatMap(({ what, alarms }) => [
      `VIOLATION        ${what}: ${alarms.length}`,
      ...alarms.slice(0, MAX_PRINTED).map((alarm) => `                 ${alarm}`),
    ]),
    violations.length === 0 ? 'nothing lost, nothing out of order' : 'BROKEN',
  ];
}

function shortened(name: string): string {
  return name.startsWith('$share/') ? 'group' : name.replace('chaos-', '');
}

export function spread(times: readonly number[]): string {
  const sorted = [...times].sort((one, other) => one - other);
  const [median, max] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
  if (median === undefined || max === undefined) return 'not measured';
  return `median ${Math.round(median)} ms, max ${Math.round(max)} ms (of ${sorted.length})`;
}
