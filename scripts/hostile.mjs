// Builds the gateway and the attacks (tools/hostile) and runs them: npm run hostile -- [OPTION…]
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const inherit = { cwd: root, stdio: 'inherit' };
rmSync(join(root, 'dist-test/hostile'), { recursive: true, force: true });
execFileSync(process.execPath, [join(root, 'scripts/build.mjs')], inherit);
const tsc = join(root, 'node_modules/typescript/bin/tsc');
execFileSync(process.execPath, [tsc, '-p', 'tools/hostile'], inherit);

// The run's own network namespace: attacks bind and connect only within it, and it disappears with the last
// process. It needs root (or CAP_SYS_ADMIN); without that, attacks from many addresses are left out.
const isolate = ['--net', '--', 'sh', '-c', 'ip link set lo up && exec "$0" "$@"'];
const canIsolate = spawnSync('unshare', [...isolate, 'true'], { stdio: 'ignore' }).status === 0;
const program = [
  process.execPath,
  join(root, 'dist-test/hostile/tools/hostile/main.js'),
  ...process.argv.slice(2),
];
const [command = '', ...args] = canIsolate ? ['unshare', ...isolate, ...program] : program;
// Its own process group: Ctrl-C reaches only the run, which stops what it started in order.
const run = spawn(command, args, {
  ...inherit,
  detached: true,
  env: { ...process.env, HOSTILE_NAMESPACE: canIsolate ? 'own' : '' },
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => run.kill(signal));
run.on('exit', (status) => process.exit(status ?? 1));
