import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const text = readFileSync('docs/reports/specification.md', 'utf8');

/** A file, followed by the titles of its tests: `http/rooms` "show …", "are …". */
const REFERENCE = /`((?:[a-z]+\/)+[a-z0-9.-]+)`((?:,?\s+"[^"]+")+)/g;

function titledTests(part: string): { file: string; title: string }[] {
  return [...part.matchAll(REFERENCE)].flatMap(([, name = '', titles = '']) =>
    [...titles.matchAll(/"([^"]+)"/g)].map(([, title = '']) => ({
      file: `test/${name}.test.ts`,
      title: title.replaceAll(/\s+/g, ' '),
    })),
  );
}

/** Whether the title is the first argument of a call, as in `it('…'` or `it.each(…)('…'`. */
function hasTest(source: string, title: string): boolean {
  const flat = source.replaceAll(/\(\s+/g, '(');
  return ["'", '"', '`'].some((quote) => flat.includes(`(${quote}${title}${quote}`));
}

it('finds every test that docs/reports/specification.md names', () => {
  const tests = titledTests(text);
  expect(tests.length).toBeGreaterThan(100);
  const missing = tests.filter(
    ({ file, title }) => !existsSync(file) || !hasTest(readFileSync(file, 'utf8'), title),
  );
  expect(missing).toEqual([]);
});

it('finds a test in every line of docs/reports/specification.md', () => {
  const rows = text
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .filter((line) => !line.endsWith('| held by |'));
  expect(rows.length).toBeGreaterThan(70);
  expect(rows.filter((row) => titledTests(row).length === 0)).toEqual([]);
});
