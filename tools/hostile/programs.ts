import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

let compiled: string | undefined;

/** A compiled program of this folder; Vitest runs the sources, and Node.js 20 cannot. */
export function programFile(name: 'ward' | 'attacker'): string {
  const here = fileURLToPath(import.meta.url);
  if (here.endsWith('.js')) return join(dirname(here), name, 'main.js');
  compiled ??= compile(join(dirname(here), '../..'));
  return join(compiled, name, 'main.js');
}

function compile(root: string): string {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [compiler, '-p', join(root, 'tools/hostile')]);
  return join(root, 'dist-test/hostile/tools/hostile');
}
