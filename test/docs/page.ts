import { readdirSync, readFileSync } from 'node:fs';

/** A fenced block of a page. */
export interface CodeBlock {
  /** Empty for a block that only shows something. */
  readonly language: string;
  readonly text: string;
}

const FENCED = /^```(\w*)\n([\s\S]*?)^```$/gm;
const HEADING = /^#+ (.*)$/gm;
/** `[text](target)`, but not an image or a reference of the matrix. */
const LINK = /\]\(([^)\s]+)\)/g;

/** Every document of the repository, by its path. */
export const PAGES: readonly string[] = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => `docs/${name}`),
];

/** A document as its readers see it. */
export class Page {
  readonly path: string;
  readonly text: string;

  constructor(path: string) {
    this.path = path;
    this.text = readFileSync(path, 'utf8');
  }

  /** The text under a second-level heading, up to the next one; empty if the heading is missing. */
  section(heading: string): string {
    const parts = this.text.split(/^## /m);
    return parts.find((part) => part.startsWith(`${heading}\n`)) ?? '';
  }

  blocks(language: string): string[] {
    return blocksOf(this.text)
      .filter((block) => block.language === language)
      .map(({ text }) => text);
  }

  /** The targets of its links, as written. */
  get links(): string[] {
    const prose = this.text.replaceAll(FENCED, '');
    return [...prose.matchAll(LINK)].map(([, target = '']) => target);
  }

  /** What a link may name after `#`, as GitHub derives it from the headings. */
  get anchors(): string[] {
    const prose = this.text.replaceAll(FENCED, '');
    return [...prose.matchAll(HEADING)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    );
  }
}

function blocksOf(text: string): CodeBlock[] {
  return [...text.matchAll(FENCED)].map(([, language = '', block = '']) => ({
    language,
    text: block,
  }));
}

/** The cells of every table row in the text, without heads and rules. */
export function rowsOf(text: string): string[][] {
  const tables = text.match(/(?:^\|.*\n?)+/gm) ?? [];
  return tables.flatMap((table) => table.trim().split('\n').slice(2).map(cellsOf));
}

function cellsOf(line: string): string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/** The texts in backquotes. */
export function codeIn(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}
