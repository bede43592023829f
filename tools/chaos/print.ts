import type { ChaosReport } from './run.js';

const MAX_PRINTED = 20;

/** The report as lines of text. */
export function linesOf(report: ChaosReport): string[] {
  const { kills, options, violations } = report;
  const total = kills.gateway + kills.store + kills.both;
  return [
    `seed             ${options.seed}`,
    `kills            ${total}: gateway ${kills.gateway}, store ${kills.store}, both ${kills.both}; upstream ${report.upstreamKills}`,
    `failed starts    ${report.failedStarts} (the store was killed under a gateway that started)`,
    `alarms           ${report.published} published, ${report.acknowledged} acknowledged`,
    ...report.subscribers.map(
      ({ name, isDurable, received, repeated, early }) =>
        `${name.padEnd(17)}${isDurable ? 'durable' : 'live'}: ${received} received, ${repeated} repeated, ${early} early at QoS 0`,
    ),
    `recorded twice   ${report.untellableRepeats} (without id, time and DUP: nothing tells them apart)`,
    `recovery         to the ready line ${spread(report.readyAfterMs)}`,
    `                 to the first new PUBACK ${spread(report.acknowledgingAfterMs)}`,
    `lost             ${report.lost}`,
    `out of order     ${report.orderViolations}`,
    ...violations.flatMap(({ what, alarms }) => [
      `VIOLATION        ${what}: ${alarms.length}`,
      ...alarms.slice(0, MAX_PRINTED).map((alarm) => `                 ${alarm}`),
    ]),
  ];
}

function spread(times: readonly number[]): string {
  const sorted = [...times].sort((one, other) => one - other);
  const median = sorted[Math.floor(sorted.length / 2)];
  const max = sorted.at(-1);
  if (median === undefined || max === undefined) return 'not measured';
  return `median ${Math.round(median)} ms, max ${Math.round(max)} ms (of ${sorted.length})`;
}
