/**
 * The pages: their links lead somewhere, and to all of them; they are short enough to be read; their configuration is
 * valid, and what `npm run api` generates is current.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { configSchema } from '../../src/config/schema.js';
import { drillsSchema } from '../../src/domain/calendar.js';
import { outputsSchema } from '../../src/domain/output-schema.js';
import { escalationsSchema } from '../../src/domain/rules.js';
import { AUDIT_ACTIONS } from '../../src/site/audit-trail.js';

const FENCED = /^```(\w*)\n([\s\S]*?)^```$/gm;
const PAGES = [
  ...['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'RELEASES.md', 'SECURITY.md'],
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];
const textOf = (path: string) => readFileSync(path, 'utf8');

/** What a link may name after `#`, as GitHub derives it from the headings. */
const anchorsOf = (path: string) =>
  [
    ...textOf(path)
      .replaceAll(FENCED, '')
      .matchAll(/^#+ (.*)$/gm),
  ].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

/** The links of a page to files of the repository. */
const linksOf = (page: string) =>
  [
    ...textOf(page)
      .replaceAll(FENCED, '')
      .matchAll(/\]\(([^)\s]+)\)/g),
  ]
    .map(([, link = '']) => link)
    .filter((link) => !/^https?:/.test(link));

test('every link leads somewhere', () => {
  const dead = PAGES.flatMap((page) =>
    linksOf(page)
      .filter((link) => {
        const [file = '', anchor] = link.split('#');
        const path = file === '' ? page : join(dirname(page), file);
        return !existsSync(path) || (anchor !== undefined && !anchorsOf(path).includes(anchor));
      })
      .map((link) => `${page}: ${link}`),
  );
  expect(dead).toEqual([]);
});

test('every page is reached from README.md by links', () => {
  const reached = new Set(['README.md']);
  for (const page of reached) {
    for (const link of linksOf(page)) {
      const path = join(dirname(page), link.split('#')[0] ?? '');
      if (PAGES.includes(path)) reached.add(path);
    }
  }
  expect(PAGES.filter((page) => !reached.has(page))).toEqual([]);
});

/** What has a letter or a digit, between spaces: the bars of a table are no words. */
const wordsIn = (page: string) =>
  textOf(page)
    .split(/\s+/)
    .filter((text) => /[\p{L}\p{N}]/u.test(text)).length;

test('README.md has at most 900 words, a page of docs/compliance 400, and docs 25,000', () => {
  const docs = PAGES.filter((page) => page.startsWith('docs/'));
  const compliance = docs.filter((page) => page.startsWith('docs/compliance/'));
  expect(wordsIn('README.md')).toBeLessThanOrEqual(900);
  expect(compliance.filter((page) => wordsIn(page) > 400)).toEqual([]);
  expect(docs.reduce((sum, page) => sum + wordsIn(page), 0)).toBeLessThanOrEqual(25_000);
});

test('SECURITY.md has the contact of the package', () => {
  const { bugs } = JSON.parse(textOf('package.json'));
  expect(textOf('SECURITY.md')).toContain(`<${bugs.email}>`);
});

test('every configuration that a page shows is valid, and so is every example of a key', () => {
  for (const page of PAGES) {
    for (const [, language, text = ''] of textOf(page).matchAll(FENCED)) {
      if (language !== 'yaml') continue;
      expect([page, configSchema.safeParse(parse(text)).error?.issues]).toEqual([page, undefined]);
    }
  }
  const bridges = configSchema.shape.bridges.unwrap();
  for (const [list, { shape }] of [
    [bridges, bridges.element.in],
    [drillsSchema, drillsSchema.element],
    [escalationsSchema, escalationsSchema.element],
    [outputsSchema, outputsSchema.element],
  ] as const) {
    const examples = Object.entries(shape).map(([key, field]) => [
      key,
      field.meta()?.examples?.at(0),
    ]);
    const example = Object.fromEntries(examples.filter(([, value]) => value !== undefined));
    expect(Object.keys(example).length).toBeGreaterThan(2);
    expect(list.safeParse([example]).error?.issues).toBeUndefined();
  }
});

test('docs/operate/audit.md has every action', () => {
  const section = textOf('docs/operate/audit.md')
    .split('\n## ')
    .find((part) => part.startsWith('Actions'));
  const rows = [...(section ?? '').matchAll(/^\| ([^|]*)\|/gm)].map(([, cell = '']) => cell);
  const named = rows.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name));
  expect(named.toSorted()).toEqual([...AUDIT_ACTIONS].toSorted());
});

/** The scripts of `npm run api`, the argument that each takes, and the files that it writes. */
const GENERATORS: readonly (readonly [string, string, ...string[]])[] = [
  ['faults', 'docs/reference/faults.md', 'docs/reference/faults.md'],
  ['metrics', 'docs/reference/metrics.md', 'docs/reference/metrics.md'],
  ['configuration', '', 'config/gateway.yaml', 'docs/reference/configuration.md'],
];

test.each(GENERATORS)(
  'what scripts/%s.mjs generates is current',
  async (script, argument, ...files) => {
    const directory = mkdtempSync(join(tmpdir(), 'gateway-generated-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    for (const file of files) mkdirSync(join(directory, dirname(file)), { recursive: true });
    const args = [`scripts/${script}.mjs`, join(directory, argument)];
    await promisify(execFile)(process.execPath, args);
    for (const file of files) expect(textOf(join(directory, file))).toBe(textOf(file));
  },
);
