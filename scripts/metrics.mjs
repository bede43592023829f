// Writes the table of docs/reports/metrics.md from src/metrics: `npm run api` runs it, and a test fails if this is
// forgotten.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const page = join(root, 'docs/reports/metrics.md');
const [output = page] = process.argv.slice(2);

const dir = mkdtempSync(join(tmpdir(), 'gateway-metrics-'));
const input = [join(root, 'src/metrics/metrics.ts'), join(root, 'src/delivery/accounts.ts')];
await build({ input, platform: 'node', logLevel: 'warn', output: { dir, format: 'cjs' } });
const require = createRequire(import.meta.url);
const { openMetrics } = require(join(dir, 'metrics.js'));
const { AlarmFigures } = require(join(dir, 'accounts.js'));
rmSync(dir, { recursive: true });

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
