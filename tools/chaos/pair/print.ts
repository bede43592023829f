import type { FaultOutcome, PairChaosReport } from './run.js';

const MAX_PRINTED = 20;

/** The report as lines of text. */
export function linesOfPair(report: PairChaosReport): string[] {
  const { options, outcomes, violations, takeovers, takeoversBehindAddress } = report;
  return [
    `seed             ${options.seed}, replicas ${options.replicas}, without replica: ${options.withoutReplica}`,
    `faults           ${outcomes.length}, each when nothing was left of the one before`,
    `alarms           ${report.published} published, ${report.acknowledged} acknowledged`,
    ...report.subscribers.map(
      ({ name, isDurable, received, repeated, early }) =>
        `${name.padEnd(17)}${isDurable ? 'durable' : 'live'}: ${received} received, ${repeated} repeated, ${early} early at QoS 0`,
    ),
    `recorded twice   ${report.untellableRepeats} (without id, time and DUP: nothing tells them apart)`,
    `counted twice    ${report.countedTwice} (taken by a failover before they were acknowledged, and told as a loss)`,
    `epochs           ${report.epochs} in which a gateway acknowledged`,
    `takeovers        ${spread(takeovers.map(({ tookMs }) => tookMs))}, last PUBACK before to first after`,
    `                 ${spread(takeoversBehindAddress.map(({ tookMs }) => tookMs))} behind the address that moves`,
    ...linesOfOutcomes(outcomes),
    `lost             ${report.lost}`,
    `out of order     ${report.orderViolations}`,
    ...violations.flatMap(({ what, alarms }) => [
      `VIOLATION        ${what}: ${alarms.length}`,
      ...alarms.slice(0, MAX_PRINTED).map((alarm) => `                 ${alarm}`),
    ]),
  ];
}

/** For each sort of fault, how long no gateway acknowledged. */
function linesOfOutcomes(outcomes: readonly FaultOutcome[]): string[] {
  const names = [...new Set(outcomes.map(({ name }) => name))].sort();
  return names.map((name) => {
    const all = outcomes.filter((outcome) => outcome.name === name);
    const pause = spread(all.map(({ pauseMs }) => pauseMs));
    const behind = spread(all.map(({ behindAddressMs }) => behindAddressMs));
    return `  ${name}: no PUBACK for ${pause}; behind the address ${behind}`;
  });
}

function spread(times: readonly number[]): string {
  const sorted = [...times].sort((one, other) => one - other);
  const median = sorted[Math.floor(sorted.length / 2)];
  const max = sorted.at(-1);
  if (median === undefined || max === undefined) return 'not measured';
  return `median ${Math.round(median)} ms, max ${Math.round(max)} ms (of ${sorted.length})`;
}
