// Compiles the chaos harness (tools/chaos) and runs it with the given arguments.
import { execFileSync, spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const compiler = join(root, 'node_modules/typescript/bin/tsc');
const options = { cwd: root, stdio: 'inherit' };
rmSync(join(root, 'dist-test'), { recursive: true, force: true });
execFileSync(process.execPath, [compiler, '-p', 'tools/chaos'], options);
const run = spawnSync(
  process.execPath,
  ['dist-test/tools/chaos/main.js', ...process.argv.slice(2)],
  options,
);
process.exit(run.status ?? 1);
