import { statSync } from 'node:fs';
import { relative } from 'node:path';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Tests without processes, sockets or a store: many files can share a thread. */
const UNIT = [
  'test/{config,domain}/**/*.test.ts',
  'test/chaos/pair/acknowledgements.test.ts',
  'test/logging/{log,log-lines,repeated-lines}.test.ts',
  'test/retention-schedule.test.ts',
  'test/broker/{back-pressure,budgets,connection-quota,connection-rate}.test.ts',
  'test/broker/{packet-writer,read-turns,unstored-publishes}.test.ts',
  'test/console/german-words.test.ts',
  'test/contract/{fault-matrix,specification-table}.test.ts',
  'test/delivery/{backlog-bytes,backlog-fault,gateway-status,going-back,in-flight,live-copies}.test.ts',
  'test/delivery/{log-writer,overload,received-identifiers,reply-code,retained-feed,routes}.test.ts',
  'test/delivery/{sessions,settler,waiting-items}.test.ts',
  'test/docs/{configuration,links,reference,troubleshooting}.test.ts',
  'test/footage/{quota,retention}.test.ts',
  'test/http/{page-cursor,shared-answer,unroutable}.test.ts',
  'test/site/{denials,failed-logins,quota-watch}.test.ts',
  'test/store/primary-watch.test.ts',
];

/** Tests that wait for takeovers and time limits, the longest first: others compute meanwhile. */
const WAITING = [
  'test/pair/recipe.test.ts',
  'test/chaos/pair/pair.test.ts',
  'test/bridge/refusals.test.ts',
  'test/store/replicas-gateway.test.ts',
  'test/bridge/outages.test.ts',
  'test/chaos/losses.test.ts',
  'test/chaos/store-faults.test.ts',
  'test/browser/board-faults.test.ts',
  'test/store/failover.test.ts',
  'test/bridge/dead-lines.test.ts',
  'test/bridge/hang-ups.test.ts',
  'test/broker/keep-alive.test.ts',
  'test/store/embedded/repair.test.ts',
  'test/browser/connection.test.ts',
  'test/store/cluster-gateway.test.ts',
  'test/chaos/chaos.test.ts',
  'test/browser/board-sound.test.ts',
  'test/contract/certificate-renewal.test.ts',
  'test/lease/takeover.test.ts',
  'test/store/replicas.test.ts',
];

/** Tests that load the machine: few at a time, so that they end soon. */
const LOADING = [
  'test/bridge/{long-outage,replay}.test.ts',
  'test/broker/{fair-reading,retained-stream,slowed}.test.ts',
  'test/browser/board-day.test.ts',
  'test/chaos/{behind-slow,behind-values,full-memory,memory,overload}.test.ts',
  'test/contract/start.test.ts',
  'test/delivery/isolation.test.ts',
  'test/hostile/**/*.test.ts',
];

/**
 * Processes, as tests block their thread and end on signals; each runs many files, as loading a file's
 * modules anew takes longer than most files do.
 */
const PROCESSES = {
  pool: 'forks',
  isolate: false,
  setupFiles: 'test/harness/described-answers.ts',
} as const;

/** More than a small machine has cores, as some tests wait; with more of them each wait costs more than it saves. */
const MAX_WORKERS = 5;

/** A project; those with a higher number run after all others have ended. */
function project(
  groupOrder: number,
  test: TestProjectInlineConfiguration['test'],
): TestProjectInlineConfiguration {
  const common = {
    // What is awaited comes late on a busy machine, and is no bound.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000, interval: 150 } },
    sequence: { groupOrder },
  };
  return { test: { ...common, ...test } };
}

/** Spreads the tests that wait among the others, which are sorted by size. */
class Mixed extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const others = await super.sort(files.filter((file) => waitingRank(file) === -1));
    const waiting = files
      .filter((file) => waitingRank(file) !== -1)
      .sort((one, other) => waitingRank(one) - waitingRank(other));
    // By size, as the last of the others are short, and behind a part of them only: they fill what is left of the time.
    const sizes = others.map((file) => (file.project.name === 'integration' ? sizeOf(file) : 0));
    const bytesEach = (SPREAD_OVER * sum(sizes)) / Math.max(1, waiting.length);
    let bytes = 0;
    const mixed = others.flatMap((file, index) => {
      const isDue = bytes >= 0;
      bytes += (sizes[index] ?? 0) - (isDue ? bytesEach : 0);
      const next = isDue ? waiting.shift() : undefined;
      return next === undefined ? [file] : [next, file];
    });
    // All that are left when there are few others: somebody runs a folder, or one file.
    return [...mixed, ...waiting];
  }
}

/** The part of the others among which the tests that wait are spread. */
const SPREAD_OVER = 0.8;

function sizeOf({ moduleId }: TestSpecification): number {
  return statSync(moduleId).size;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

function waitingRank({ moduleId, project }: TestSpecification): number {
  return WAITING.indexOf(relative(project.config.root, moduleId));
}

export default defineConfig({
  test: {
    sequence: { sequencer: Mixed },
    projects: [
      project(0, {
        name: 'unit',
        include: UNIT,
        pool: 'threads',
        isolate: false,
        maxWorkers: MAX_WORKERS,
      }),
      project(0, {
        ...{ ...PROCESSES, name: 'integration', maxWorkers: MAX_WORKERS },
        ...{ include: ['test/**/*.test.ts'], exclude: [...UNIT, ...LOADING] },
      }),
      project(1, { ...PROCESSES, name: 'loading', maxWorkers: 3, include: LOADING }),
    ],
  },
});
