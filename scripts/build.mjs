// Bundles src/ into dist/: one file loads in a quarter of the time of four hundred, and a gateway that
// was killed is back sooner. The Lua scripts, which are read as files, are put beside it.
import { cpSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, 'dist');
rmSync(dist, { recursive: true, force: true });
await build({
  cwd: root,
  input: 'src/main.ts',
  platform: 'node',
  logLevel: 'warn',
  output: { dir: dist, format: 'esm', sourcemap: true, chunkFileNames: '[name].js' },
});
cpSync(join(root, 'src/store/lua'), join(dist, 'lua'), { recursive: true });
