import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/harness/described-answers.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Real servers and child processes: a process each, and no more at a time than a small machine
    // has cores.
    pool: 'forks',
    maxWorkers: 2,
  },
});
