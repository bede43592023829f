import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

/**
 * `unit` needs no process, socket or store. `integration` starts servers and clients. `alone` measures, and has the
 * machine for itself. `long` takes minutes, and runs with `npm run test:long`.
 */
const UNIT = ['test/units/**/*.test.ts', 'test/**/*.unit.test.ts'];
const ALONE = 'test/**/*.alone.test.ts';
const LONG = 'test/**/*.long.test.ts';

/**
 * Processes, as tests block their thread and end on signals; each runs many files, as loading a file's modules anew
 * takes longer than most files do, and as they share a gateway (`test/harness/index.ts`).
 */
const PROCESSES = { pool: 'forks', isolate: false } as const;

/** One more than a small machine has cores, as some tests wait. */
const MAX_WORKERS = 3;

/** A project; those with a higher number run after all others have ended. */
function project(
  groupOrder: number,
  test: TestProjectInlineConfiguration['test'],
): TestProjectInlineConfiguration {
  const common = {
    // No bound on the gateway: what is awaited comes late on a busy machine.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 25_000, interval: 100 } },
    // No test relies on another; the seed is printed.
    sequence: { groupOrder, shuffle: true },
  };
  return { test: { ...common, ...test } };
}

export default defineConfig({
  test: {
    projects: [
      project(0, {
        name: 'unit',
        include: UNIT,
        exclude: [LONG],
        pool: 'threads',
        isolate: false,
        maxWorkers: MAX_WORKERS,
      }),
      project(0, {
        ...PROCESSES,
        name: 'integration',
        include: ['test/**/*.test.ts'],
        exclude: [...UNIT, ALONE, LONG],
        maxWorkers: MAX_WORKERS,
      }),
      project(1, { ...PROCESSES, name: 'alone', include: [ALONE], maxWorkers: 1 }),
      project(2, {
        ...PROCESSES,
        name: 'long',
        include: [LONG],
        maxWorkers: 2,
        testTimeout: 300_000,
        hookTimeout: 120_000,
      }),
    ],
  },
});
