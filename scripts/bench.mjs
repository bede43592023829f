// Compiles tools/bench/ to dist-test/ and runs it against the built gateway: npm run bench -- [part…]
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const out = join(root, 'dist-test');
rmSync(out, { recursive: true, force: true });
const tsc = join(root, 'node_modules/typescript/bin/tsc');
execFileSync(process.execPath, [tsc, '-p', join(root, 'tools/bench')], { stdio: 'inherit' });
cpSync(join(root, 'src/store/lua'), join(out, 'src/store/lua'), { recursive: true });
const program = [join(out, 'tools/bench/main.js'), ...process.argv.slice(2)];
// Its own process group: Ctrl-C reaches only the bench, which stops what it started in order.
const options = { cwd: root, stdio: 'inherit', detached: true };
const bench = spawn(process.execPath, program, options);
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => bench.kill(signal));
bench.on('exit', (status) => process.exit(status ?? 1));
