// Compiles tools/ to dist-test/ and runs one of them: npm run bench, npm run chaos, npm run hostile.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [name, ...args] = process.argv.slice(2);
const tsc = join(root, 'node_modules/typescript/bin/tsc');
execFileSync(process.execPath, [tsc, '-p', 'tools'], { cwd: root, stdio: 'inherit' });

// Attacks have a network namespace of their own, which disappears with the last process. It needs root (or
// CAP_SYS_ADMIN); without it, attacks from many addresses are left out.
const isolate = ['--net', '--', 'sh', '-c', 'ip link set lo up && exec "$0" "$@"'];
const isIsolated =
  name === 'hostile' &&
  spawnSync('unshare', [...isolate, 'true'], { stdio: 'ignore' }).status === 0;
// npm passes on a second `--`.
const program = [`dist-test/tools/${name}/main.js`, ...args.filter((arg) => arg !== '--')];
const [command, parameters] = isIsolated
  ? ['unshare', [...isolate, process.execPath, ...program]]
  : [process.execPath, program];
// Its own process group: Ctrl-C reaches only the tool, which stops what it started.
const run = spawn(command, parameters, {
  cwd: root,
  stdio: 'inherit',
  detached: true,
  env: { ...process.env, TOOL_NAMESPACE: isIsolated ? 'own' : '' },
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => run.kill(signal));
run.on('exit', (status) => process.exit(status ?? 1));
