import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';

it('the console’s client is what `npm run api` generates from the current interface', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'gateway-api-test-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const file = join(directory, 'generated.ts');
  await promisify(execFile)(process.execPath, ['scripts/api.mjs', file]);
  expect(await readFile(file, 'utf8')).toBe(await readFile('src/console/api/generated.ts', 'utf8'));
});
