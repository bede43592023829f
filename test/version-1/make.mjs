/**
 * Makes the data directories of `test/contract/version-1-data.test.ts` with the program of version 1,
 * commit 9bf519b. They are committed; this is here to show what is in them, and how it came there:
 *
 *     git worktree add /tmp/version-1 9bf519b && cd /tmp/version-1 && npm ci && npm run build && cd -
 *     node test/version-1/make.mjs /tmp/version-1 && npx biome check --write test/version-1
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { patchedProgram, VersionOne } from './make/gateway.mjs';
import { runScenario } from './make/scenario.mjs';

const [checkout] = process.argv.slice(2);
if (checkout === undefined) {
  process.stderr.write('usage: make.mjs <checkout of commit 9bf519b, built>\n');
  process.exit(2);
}
const program = patchedProgram(resolve(checkout));
for (const end of ['stopped', 'killed']) {
  const dataDir = mkdtempSync(join(tmpdir(), 'v1-'));
  const gateway = new VersionOne(program, dataDir);
  try {
    const expected = await runScenario(gateway, end);
    const file = (suffix) => join(import.meta.dirname, `${end}.${suffix}`);
    // Sockets and process ids mean nothing on another machine.
    const without = ['redis.sock', 'redis.pid', '*.lock', '*.log', 'gateway.yaml'];
    const excludes = without.map((name) => `--exclude=${name}`);
    const tar = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', ...excludes];
    execFileSync('tar', [...tar, '-czf', file('tar.gz'), '-C', dataDir, '.']);
    writeFileSync(file('json'), `${JSON.stringify(expected, undefined, 2)}\n`);
    process.stdout.write(`${end}: ${expected.messages.length} messages\n`);
  } finally {
    await gateway.kill();
    rmSync(dataDir, { recursive: true });
  }
}
