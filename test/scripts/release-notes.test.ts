import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

test('the notes of a release are what the changelog says about its version', () => {
  const { stdout, status } = spawnSync(process.execPath, ['scripts/release-notes.mjs'], {
    encoding: 'utf8',
  });
  expect(status).toBe(0);
  expect(stdout).toMatch(/^### /m);
  expect(stdout).not.toMatch(/^## /m);
  expect(readFileSync('CHANGELOG.md', 'utf8')).toContain(stdout.trim());
});
