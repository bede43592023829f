// Writes the table of docs/reports/metrics.md from src/metrics, with the metrics of a gateway that has nothing to
// count: `npm run api` runs it, and a test fails if this is forgotten.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const page = join(root, 'docs/reports/metrics.md');
const [output = page] = process.argv.slice(2);

const directory = mkdtempSync(join(tmpdir(), 'gateway-metrics-'));
const file = join(directory, 'metrics.cjs');
const input = join(root, 'src/metrics/metrics.ts');
await build({ input, platform: 'node', logLevel: 'warn', output: { file, format: 'cjs' } });
const { Metrics } = createRequire(import.meta.url)(file);
rmSync(directory, { recursive: true });

const none = () => [];
const zero = () => 0;
const durations = { counts: [], sumMs: 0 };
const metrics = new Metrics({
  router: {
    alarmFigures: { counts: [], untilRecorded: durations, untilSent: durations },
    numbers: { known: 0 },
    leftOutCount: 0,
  },
  sessions: { count: 0, persistent: none },
  accounts: { refresh: none },
  invalid: { counts: [] },
  notStored: { notStored: [] },
  health: { shown: none },
  storeMemory: () => ({ usedBytes: 0, maxBytes: 0 }),
  leaseEpoch: 1,
  exceededQuotas: none,
  bridges: none,
  certificateEndMs: () => undefined,
  devicesOnline: zero,
  connections: zero,
  unstoredBytes: zero,
  unkeptPublishes: zero,
  slowedPrincipals: zero,
  heldBack: zero,
  lostDenials: zero,
});
const labels = new Map(
  metrics.registry.getMetricsAsArray().map(({ name, labelNames = [] }) => [name, labelNames]),
);
const text = await metrics.metrics();
const rows = [...text.matchAll(/^# HELP (gateway_\w+) (.+)\n# TYPE \w+ (\w+)$/gm)]
  .map(([, name, help, type]) => {
    const names = [...(labels.get(name) ?? []), ...(type === 'histogram' ? ['le'] : [])];
    const shown = names.map((label) => `\`${label}\``).join(', ');
    return `| \`${name}\` | ${type} | ${shown} | ${help} |\n`;
  })
  .sort();
const [before] = readFileSync(page, 'utf8').split(/(?<=<!-- metrics -->\n)/);
writeFileSync(
  output,
  `${before}\n| metric | type | labels | |\n|---|---|---|---|\n${rows.join('')}`,
);
