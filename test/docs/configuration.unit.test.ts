import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { configSchema } from '../../src/config/schema.js';
import { outputsSchema } from '../../src/domain/output-schema.js';
import { drillsSchema } from '../../src/domain/time/drill-schedule.js';
import { escalationsSchema } from '../../src/domain/time/escalations.js';
import { PAGES, Page } from './page.js';

const WRITTEN = ['config/gateway.yaml', 'docs/reports/configuration.md'];

it('the sample and the table of keys are what `npm run api` generates', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'gateway-configuration-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  for (const folder of ['config', 'docs/reports'])
    await mkdir(join(directory, folder), { recursive: true });
  await promisify(execFile)(process.execPath, ['scripts/configuration.mjs', directory]);
  for (const file of WRITTEN)
    expect(await readFile(join(directory, file), 'utf8')).toBe(await readFile(file, 'utf8'));
});

describe('an example in the sample is valid:', () => {
  const { bridges } = configSchema.shape;
  const lists = {
    bridges: bridges.unwrap(),
    drills: drillsSchema,
    escalations: escalationsSchema,
    outputs: outputsSchema,
  };
  const shapes = {
    bridges: bridges.unwrap().element.in.shape,
    drills: drillsSchema.element.shape,
    escalations: escalationsSchema.element.shape,
    outputs: outputsSchema.element.shape,
  };

  it.each(['bridges', 'drills', 'escalations', 'outputs'] as const)('%s', (name) => {
    const examples = Object.entries(shapes[name]).map(([key, field]) => [
      key,
      field.meta()?.examples?.at(0),
    ]);
    const example = Object.fromEntries(examples.filter(([, value]) => value !== undefined));
    expect(Object.keys(example).length).toBeGreaterThan(2);
    expect(lists[name].safeParse([example]).error?.issues).toBeUndefined();
  });
});

const examples = PAGES.flatMap((path) =>
  new Page(path).blocks('yaml').map((text): [string, string] => [path, text]),
);

it.each(examples)('%s shows valid configuration: %s', (_path, text) => {
  expect(configSchema.safeParse(parse(text)).error?.issues).toBeUndefined();
});
