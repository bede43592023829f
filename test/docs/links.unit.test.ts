import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PAGES, Page } from './page.js';

/** Why the link of a page leads nowhere; undefined if it leads somewhere. */
function problemOf(page: Page, link: string): string | undefined {
  if (/^https?:/.test(link)) return undefined;
  const [file = '', anchor] = link.split('#');
  const path = file === '' ? page.path : join(dirname(page.path), file);
  if (!existsSync(path)) return `${link}: there is no ${path}`;
  if (anchor === undefined || new Page(path).anchors.includes(anchor)) return undefined;
  return `${link}: ${path} has no such heading`;
}

describe.each(PAGES)('%s', (path) => {
  it('links to existing targets only', () => {
    const page = new Page(path);
    const problems = page.links.map((link) => problemOf(page, link));
    expect(problems.filter((problem) => problem !== undefined)).toEqual([]);
  });
});

it('README links to every page', () => {
  const linked = new Page('README.md').links.map((link) => link.split('#')[0]);
  const others = PAGES.filter((path) => path !== 'README.md');
  expect(others.filter((path) => !linked.includes(path))).toEqual([]);
});
