import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** `'…'`, `"…"` or a template. */
const LITERAL = /'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g;
/** A log call of any level but those for debugging. */
export const LOG_CALL = /\b(?:log|logger)\??(?:\.(?:info|warn|error|fatal)|\[[^\]]+\])\(/g;

/** The source files in a folder. */
export function sourcesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name))
    .toSorted();
}

/** A source file without its comments. */
export function codeOf(path: string): string {
  return readFileSync(path, 'utf8')
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/^\s*\/\/.*$/gm, '');
}

/**
 * The texts in a piece of code, as a reader meets them: `…` for what is filled in, and one text where
 * several are put together with `+`.
 */
export function textsIn(code: string): string[] {
  const texts: string[] = [];
  let end = 0;
  for (const match of code.matchAll(LITERAL)) {
    const [whole, single, double, template = ''] = match;
    const text = (single ?? double ?? template.replaceAll(/\$\{[^}]*\}/g, '…')).replace('\\n', '');
    const between = code.slice(end, match.index);
    if (texts.length > 0 && between.trim() === '+') texts.push((texts.pop() ?? '') + text);
    else texts.push(text);
    end = match.index + whole.length;
  }
  return texts;
}

/** Signs of code between two literals that were taken for one. */
const CODE = /=>|&&|\|\||\);|^[^{]*\}/;

/** Texts of two words or more that are for readers. */
export function phrasesIn(code: string): string[] {
  return textsIn(code).filter((text) => /\p{L} \p{L}/u.test(text) && !CODE.test(text));
}

/** What the calls of a function are given, without the parentheses. */
export function callsOf(code: string, called: RegExp): string[] {
  return [...code.matchAll(called)].map((match) =>
    argumentsFrom(code, match.index + match[0].length),
  );
}

function argumentsFrom(code: string, start: number): string {
  const masked = code.replaceAll(LITERAL, (literal) => 'x'.repeat(literal.length));
  let depth = 1;
  for (let at = start; at < masked.length; at++) {
    if (masked[at] === '(') depth++;
    else if (masked[at] === ')') depth--;
    if (depth === 0) return code.slice(start, at);
  }
  return '';
}

/** The messages of a log call; none where they are named elsewhere. */
export function messagesOf(given: string): string[] {
  return textsIn(lastArgument(given));
}

/** By the last comma that is in no parentheses, brackets, braces or literal. */
function lastArgument(given: string): string {
  const masked = given
    .replaceAll(LITERAL, (literal) => 'x'.repeat(literal.length))
    .replace(/,\s*$/, '');
  let depth = 0;
  for (let at = masked.length - 1; at >= 0; at--) {
    const character = masked[at] ?? '';
    if (')]}'.includes(character)) depth++;
    else if ('([{'.includes(character)) depth--;
    else if (character === ',' && depth === 0) return given.slice(at + 1, masked.length);
  }
  return given;
}
