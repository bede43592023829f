import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const REFERENCE = /\[([a-z-]+)\]/g;

/** The rows of the section's tables, without their headers. */
function tables(): string[][][] {
  const page = readFileSync('docs/reports/fault-matrix.md', 'utf8');
  const blocks = page.match(/(?:^\|.*\n)+/gm) ?? [];
  return blocks.map((block) => block.trim().split('\n').slice(2).map(cellsOf));
}

function cellsOf(line: string): string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}

function referencesIn(cell: string): string[] {
  return [...cell.matchAll(REFERENCE)].map(([, name]) => name ?? '');
}

const [promises = [], bridgePromises = [], pairPromises = [], tests = []] = tables();
const promisedOf = [...promises, ...bridgePromises, ...pairPromises].flatMap(
  ([fault = '', ...cells]) =>
    cells.map((cell, column): [string, number, string] => [fault, column + 1, cell]),
);
const named = new Map(
  tests.map(([name = '', file = '', title = '']) => [
    referencesIn(name)[0] ?? name,
    { file, title },
  ]),
);

describe('the fault matrix in docs/reports/fault-matrix.md', () => {
  it('has its rows and columns, and its tests', () => {
    expect(promises).toHaveLength(17);
    for (const row of promises) expect(row).toHaveLength(5);
    expect(bridgePromises).toHaveLength(11);
    for (const row of bridgePromises) expect(row).toHaveLength(2);
    expect(pairPromises).toHaveLength(13);
    for (const row of pairPromises) expect(row).toHaveLength(3);
    expect(named.size).toBe(tests.length);
  });

  it.each(promisedOf)(
    'says what is lost, repeated and late, with a test: %s, column %i',
    (...cell) => {
      const text = cell[2];
      for (const word of ['lost', 'repeated', 'late'])
        expect(text).toMatch(new RegExp(`${word}\\b`));
      const references = referencesIn(text);
      expect(references).not.toEqual([]);
      for (const name of references) expect([...named.keys()]).toContain(name);
    },
  );

  it.each([...named])('finds the test [%s]', (_name, { file, title }) => {
    const text = readFileSync(`test/${file.replaceAll('`', '')}`, 'utf8');
    // The title as the call to vitest has it, in a file that skips no test.
    const literal = title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    expect(text).toMatch(new RegExp(`\\(\\s*'${literal}',`));
    expect(text).not.toMatch(/\b(?:it|describe)\.(?:skip|only|todo)\b/);
  });

  it('lists no test that no cell cites', () => {
    const used = new Set(promisedOf.flatMap(([, , cell]) => referencesIn(cell)));
    expect([...named.keys()].toSorted()).toEqual([...used].toSorted());
  });
});
