// Compiles src/ to dist/ and puts the Lua scripts, which tsc does not copy, beside their callers.
import { execFileSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
rmSync(join(root, 'dist'), { recursive: true, force: true });
execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', root], {
  stdio: 'inherit',
});
cpSync(join(root, 'src/store/lua'), join(root, 'dist/store/lua'), { recursive: true });
