// Writes the tables of faults in docs/reports/faults.md from src/domain/faults: `npm run api` runs it, and a test
// fails if this is forgotten.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'rolldown';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [output = join(root, 'docs/reports/faults.md')] = process.argv.slice(2);
const page = readFileSync(join(root, 'docs/reports/faults.md'), 'utf8');
const directory = mkdtempSync(join(tmpdir(), 'gateway-faults-'));

/** The text between `<!-- faults: store -->` and `<!-- end -->`, from `STORE_FAULTS` in store-faults.ts. */
const TABLE = /(<!-- faults: (\w+) -->\n).*?(?=<!-- end -->)/gs;
const groups = [...page.matchAll(TABLE)].map(([, , group]) => group);
const tables = new Map();
for (const group of groups) tables.set(group, tableOf(await faultsOf(group)));
rmSync(directory, { recursive: true });
writeFileSync(
  output,
  page.replaceAll(TABLE, (_, start, group) => `${start}\n${tables.get(group)}\n`),
);

async function faultsOf(group) {
  const file = join(directory, `${group}.mjs`);
  const input = join(root, `src/domain/faults/${group}-faults.ts`);
  await build({ input, logLevel: 'warn', output: { file, format: 'esm' } });
  const exports = await import(pathToFileURL(file).href);
  return Object.values(exports[`${group.toUpperCase()}_FAULTS`]);
}

function tableOf(faults) {
  const rows = faults.map(({ code, stops, en: { message, advice } }) => {
    const text = message.replaceAll(/\{\w+\}/g, '…');
    return `| \`${text}\` | \`${code}\` | ${stops ? 'yes' : 'no'} | ${advice} |\n`;
  });
  return `| message | code | unready | what to do |\n|---|---|---|---|\n${rows.join('')}`;
}
