import { statSync } from 'node:fs';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Tests by the suffix of their files, for any other starts servers and clients:
 * `unit` without processes, sockets or a store, many files in a thread; `slow` wait for takeovers and time limits, while
 * others compute; `load` load the machine, and run a few at a time when the others have ended.
 */
const UNIT = 'test/**/*.unit.test.ts';
const LOAD = ['test/**/*.load.test.ts', 'test/**/*.alone.test.ts'];
const LONG = 'test/**/*.long.test.ts';
const SLOW = /\.slow\.test\.ts$/;

/**
 * Processes, as tests block their thread and end on signals; each runs many files, as loading a file's
 * modules anew takes longer than most files do.
 */
const PROCESSES = {
  pool: 'forks',
  isolate: false,
  setupFiles: 'test/harness/described/described-answers.ts',
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

/** Spreads the slow tests among the others, which are sorted by size. */
class Mixed extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const others = await super.sort(files.filter((file) => !isSlow(file)));
    const slow = files.filter(isSlow).sort((one, other) => sizeOf(other) - sizeOf(one));
    // By size, as the last of the others are short, and behind a part of them only: they fill what is left of the time.
    const sizes = others.map((file) => (file.project.name === 'integration' ? sizeOf(file) : 0));
    const bytesEach = (SPREAD_OVER * sum(sizes)) / Math.max(1, slow.length);
    let bytes = 0;
    const mixed = others.flatMap((file, index) => {
      const isDue = bytes >= 0;
      bytes += (sizes[index] ?? 0) - (isDue ? bytesEach : 0);
      const next = isDue ? slow.shift() : undefined;
      return next === undefined ? [file] : [next, file];
    });
    // All that are left when there are few others: somebody runs a folder, or one file.
    return [...mixed, ...slow];
  }
}

/** The part of the others among which the slow tests are spread. */
const SPREAD_OVER = 0.8;

function sizeOf({ moduleId }: TestSpecification): number {
  return statSync(moduleId).size;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

function isSlow({ moduleId }: TestSpecification): boolean {
  return SLOW.test(moduleId);
}

export default defineConfig({
  test: {
    sequence: { sequencer: Mixed },
    projects: [
      project(0, {
        name: 'unit',
        include: [UNIT, 'test/units/**/*.test.ts'],
        pool: 'threads',
        isolate: false,
        maxWorkers: MAX_WORKERS,
      }),
      project(0, {
        ...PROCESSES,
        name: 'integration',
        maxWorkers: MAX_WORKERS,
        include: ['test/**/*.test.ts'],
        exclude: [UNIT, 'test/units/**', ...LOAD, LONG],
      }),
      project(2, { ...PROCESSES, name: 'long', maxWorkers: 2, include: [LONG] }),
      project(1, { ...PROCESSES, name: 'loading', maxWorkers: 3, include: LOAD }),
    ],
  },
});
