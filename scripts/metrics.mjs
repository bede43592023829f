// Writes the table of docs/reference/metrics.md from src/metrics: `npm run api` runs it, and a test fails if this is
// forgotten.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runnerImport } from 'vite';

const root = join(import.meta.dirname, '..');
const page = join(root, 'docs/reference/metrics.md');
const [output = page] = process.argv.slice(2);
const load = async (name) =>
  (await runnerImport(join(root, 'src', name), { configFile: false, logLevel: 'silent' })).module;
const { openMetrics } = await load('metrics/metrics.ts');
const { AlarmFigures } = await load('delivery/accounts.ts');

// Nothing is read: only names, help and labels are asked for.
const { registry } = openMetrics({ leaseEpoch: 1, router: { alarmFigures: new AlarmFigures() } });
const rows = registry
  .getMetricsAsArray()
  .filter(({ name }) => name.startsWith('gateway_'))
  .map(({ name, type, help, labelNames }) => {
    const labels = type === 'histogram' ? [...labelNames, 'le'] : labelNames;
    const shown = labels.map((label) => `\`${label}\``).join(', ');
    return `| \`${name}\` | ${type} | ${shown} | ${help} |\n`;
  })
  .sort();
const [before] = readFileSync(page, 'utf8').split(/(?<=<!-- metrics -->\n)/);
writeFileSync(
  output,
  `${before}\n| metric | type | labels | |\n|---|---|---|---|\n${rows.join('')}`,
);
