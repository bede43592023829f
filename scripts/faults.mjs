// Writes the tables of faults in docs/reference/faults.md from src/domain/faults.ts: `npm run api` runs it, and a test
// fails if this is forgotten.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'rolldown';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [output = join(root, 'docs/reference/faults.md')] = process.argv.slice(2);
const page = readFileSync(join(root, 'docs/reference/faults.md'), 'utf8');

/** The text between `<!-- faults: disk-full, disk-read-only -->` and `<!-- end -->`: the kinds with these codes. */
const TABLE = /(<!-- faults: ([\w, -]+) -->\n).*?(?=<!-- end -->)/gs;
const missing = new Set(await allFaults());
writeFileSync(
  output,
  page.replaceAll(
    TABLE,
    (_, start, codes) => `${start}\n${tableOf(faultsOf(codes.split(', ')))}\n`,
  ),
);
if (missing.size > 0) throw new Error(`No table for ${[...missing].map(({ code }) => code)}`);

async function allFaults() {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-faults-'));
  const file = join(directory, 'faults.mjs');
  const input = join(root, 'src/domain/faults.ts');
  await build({ input, logLevel: 'warn', output: { file, format: 'esm' } });
  const { FAULTS } = await import(pathToFileURL(file).href);
  rmSync(directory, { recursive: true });
  // `doctor` prints what only it finds together with the advice.
  return Object.values(FAULTS).filter(({ code }) => code !== 'doctor-finding');
}

function faultsOf(codes) {
  const faults = [...missing].filter(({ code }) => codes.includes(code));
  for (const fault of faults) missing.delete(fault);
  return faults;
}

/** A code stands once, in front of its messages. */
function tableOf(faults) {
  const rows = faults.map(({ code, stops, texts: [english] }, at) => {
    const [message, advice] = english.split('\n');
    const text = message.replaceAll(/\{\w+\}/g, '…');
    const shown = faults[at - 1]?.code === code ? '' : `\`${code}\``;
    return `| ${shown} | \`${text}\` | ${stops ? 'yes' : ''} | ${advice} |\n`;
  });
  return `| code | message | unready | what to do |\n|---|---|---|---|\n${rows.join('')}`;
}
