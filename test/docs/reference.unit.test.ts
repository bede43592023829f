import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { AUDIT_ACTIONS } from '../../src/site/audit-trail.js';
import { codeIn, PAGES, Page, rowsOf } from './page.js';
import { codeOf, sourcesIn, textsIn } from './program-texts.js';

const METRICS = 'docs/reports/metrics.md';

function documentedMetrics(): string[] {
  return rowsOf(new Page(METRICS).text).flatMap(([name = '']) => codeIn(name));
}

it('the table of metrics is what `npm run api` generates, and has every metric of the gateway', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'gateway-metrics-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const file = join(directory, 'metrics.md');
  await promisify(execFile)(process.execPath, ['scripts/metrics.mjs', file]);
  expect(await readFile(file, 'utf8')).toBe(await readFile(METRICS, 'utf8'));
  const metrics = sourcesIn('src/metrics')
    .flatMap((path) => textsIn(codeOf(path)))
    .filter((text) => /^gateway_[a-z_]+$/.test(text));
  expect(documentedMetrics().toSorted()).toEqual([...new Set(metrics)].toSorted());
});

it('every page names existing metrics only', () => {
  const documented = documentedMetrics();
  const pages = PAGES.map((path) => new Page(path).text);
  const named = pages.flatMap((text) => text.match(/\bgateway_[a-z_]*[a-z]\b(?!_|…)/g) ?? []);
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((name) => !documented.includes(name))).toEqual([]);
});

it('docs/operate/audit.md has every action, and no others', () => {
  const rows = rowsOf(new Page('docs/operate/audit.md').section('Actions'));
  const documented = rows.flatMap(([name = '']) => codeIn(name));
  expect(documented.toSorted()).toEqual([...AUDIT_ACTIONS].toSorted());
});
