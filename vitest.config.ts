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
  'test/delivery/{backlog-bytes,backlog-count,backlog-fault,cursor,cursor-saver,express-lanes}.test.ts',
  'test/delivery/{gateway-status,going-back,going-back-account,in-flight,live-copies}.test.ts',
  'test/delivery/{log-writer,message-compaction,overload,received-identifiers}.test.ts',
  'test/delivery/{reply-code,retained-feed,routes,sent-entries,sessions,tally,waiting-items}.test.ts',
  'test/docs/{configuration,links,reference,troubleshooting}.test.ts',
  'test/footage/{quota,retention}.test.ts',
  'test/http/{page-cursor,shared-answer,unroutable}.test.ts',
  'test/site/{denials,failed-logins,quota-watch}.test.ts',
  'test/store/primary-watch.test.ts',
];

/** Tests that wait for takeovers and time limits. They begin first, as others compute meanwhile. */
const WAITING = [
  'test/pair/recipe.test.ts',
  'test/store/failover.test.ts',
  'test/browser/board-sound.test.ts',
  'test/browser/connection.test.ts',
  'test/store/pair-gateway.test.ts',
  'test/store/cluster-gateway.test.ts',
  'test/chaos/pair/pair.test.ts',
];

/** Tests that measure time, or load the machine so that what others measure would be wrong. */
const CHAOS = [
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

/** More than a small machine has cores: these tests wait for timeouts more than they compute. */
const MAX_WORKERS = 6;

/** A project; those with a higher number run after all others have ended. */
function project(
  groupOrder: number,
  test: TestProjectInlineConfiguration['test'],
): TestProjectInlineConfiguration {
  const common = {
    ...{ testTimeout: 30_000, hookTimeout: 60_000, sequence: { groupOrder } },
    // What is awaited comes late on a busy machine, and is no bound.
    expect: { poll: { timeout: 10_000 } },
  };
  return { test: { ...common, ...test } };
}

/** Has the tests that wait begin first, the others by size. */
class WaitingFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.sort((one, other) => rank(one) - rank(other));
  }
}

function rank({ moduleId, project }: TestSpecification): number {
  const isWaiting = WAITING.includes(relative(project.config.root, moduleId));
  return project.config.sequence.groupOrder * 2 + (isWaiting ? 0 : 1);
}

export default defineConfig({
  test: {
    sequence: { sequencer: WaitingFirst },
    projects: [
      project(0, { name: 'unit', include: UNIT, pool: 'threads', isolate: false, maxWorkers: 2 }),
      project(1, {
        ...{ ...PROCESSES, name: 'integration', maxWorkers: MAX_WORKERS },
        ...{ include: ['test/**/*.test.ts'], exclude: [...UNIT, ...CHAOS] },
      }),
      project(2, { ...PROCESSES, name: 'chaos', maxWorkers: 1, include: CHAOS }),
    ],
  },
});
