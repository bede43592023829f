// Writes the console's client of the HTTP interface, from the OpenAPI document of the build: after a change of
// the interface, run `npm run build && npm run api`. A test fails if this is forgotten.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [output = join(root, 'src/console/api/generated.ts')] = process.argv.slice(2);
const directory = mkdtempSync(join(tmpdir(), 'gateway-api-'));
const file = join(directory, 'openapi.json');
const document = readFileSync(join(root, 'dist/console/openapi.json'), 'utf8');
writeFileSync(file, JSON.stringify(forConsole(JSON.parse(document))));
const generator = join(root, 'node_modules/oazapfts/dist/cli.js');
const options = ['--optimistic', '--useUnknown', '--argumentStyle=object'];
const { status } = spawnSync(process.execPath, [generator, file, output, ...options], {
  stdio: 'inherit',
});
rmSync(directory, { recursive: true });
process.exit(status ?? 1);

/** The operations that the console calls, with one failure each: all failures are problems, which its client throws. */
function forConsole(document) {
  const sources = join(root, 'src/console');
  const text = readdirSync(sources, { recursive: true })
    .filter((name) => /\.tsx?$/.test(name) && name !== join('api', 'generated.ts'))
    .map((name) => readFileSync(join(sources, name), 'utf8'))
    .join();
  const called = new Set(text.match(/\w+/g));
  const kept = (entries, isKept) => Object.fromEntries(Object.entries(entries).filter(isKept));
  for (const [path, operations] of Object.entries(document.paths)) {
    document.paths[path] = kept(operations, ([, { operationId }]) => called.has(operationId));
    for (const operation of Object.values(document.paths[path])) {
      const [failure] = Object.keys(operation.responses).filter((status) => Number(status) >= 400);
      operation.responses = kept(
        operation.responses,
        ([status]) => Number(status) < 400 || status === failure,
      );
    }
  }
  return document;
}
