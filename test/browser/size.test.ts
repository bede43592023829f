import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';

const DIRECTORY = 'dist/console/console';
const MAX_BYTES = 150_000;
/** These load immediately; `import("./x.js")`, with a parenthesis, loads when a page is shown. */
const STATIC_IMPORT = /(?:from|import)\s*["']\.\/([^"']+\.js)["']/g;

/** Scripts that the board waits for: those of the page, and everything that they import. */
function scriptsOfBoard(): ReadonlyMap<string, number> {
  const page = readFileSync('dist/console/index.html', 'utf8');
  const waiting = [...page.matchAll(/\.\/console\/([^"]+\.js)/g)].map(([, name = '']) => name);
  const sizes = new Map<string, number>();
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (sizes.has(name)) continue;
    const script = readFileSync(`${DIRECTORY}/${name}`);
    sizes.set(name, gzipSync(script).length);
    waiting.push(...[...script.toString().matchAll(STATIC_IMPORT)].map(([, next = '']) => next));
  }
  return sizes;
}

it('the board needs at most 150 kB of JavaScript, compressed', () => {
  const sizes = scriptsOfBoard();
  const totalBytes = [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
  process.stdout.write(`${JSON.stringify(Object.fromEntries(sizes))} = ${totalBytes} bytes\n`);
  expect(sizes.size).toBeGreaterThan(0);
  expect(totalBytes).toBeLessThanOrEqual(MAX_BYTES);
});
