import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

/** The folders to check for what no rule of Biome covers. */
const ROOTS = ['src', 'test', 'tools', 'scripts', 'docs', 'config', 'systemd'];
const MAX_FILES = 25;
/** A spread array or object literal, but not the result of a call on one. */
const LITERAL_SPREAD = /\.\.\.(?:\[[^[\]]*\]|\{[^{}]*\})(?=\s*[,)\]}])/;

const folders = ROOTS.flatMap((root) => [
  root,
  ...readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ parentPath, name }) => join(parentPath, name)),
]);

function filesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => join(folder, name));
}

it('no folder has more files than a reader takes in at a glance', () => {
  expect(folders.length).toBeGreaterThan(100);
  expect(folders.filter((folder) => filesIn(folder).length > MAX_FILES)).toEqual([]);
});

it('no literal is spread into another', () => {
  const files = folders.flatMap(filesIn).filter((file) => /\.(?:ts|tsx|mjs)$/.test(file));
  expect(files.length).toBeGreaterThan(1000);
  expect(files.filter((file) => LITERAL_SPREAD.test(readFileSync(file, 'utf8')))).toEqual([]);
});
