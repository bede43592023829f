import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** `'…'`, `"…"` or a template. */
const LITERAL = /'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g;
/** A log call of any level except those for debugging. */
export const LOG_CALL = /\b(?:log|logger)\??(?:\.(?:info|warn|error|fatal)|\[[^\]]+\])\(/g;
export const ERROR_CALL = /\b(?:log|logger)\??\.(?:error|fatal)\(/g;

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
 * The texts in a piece of code, as a reader sees them: `…` for a placeholder, and one text where `+`
 * joins several.
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

/** The arguments of the calls of a function, without the parentheses. */
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

/** The messages of a log call; none if they are named elsewhere. */
export function messagesOf(given: string): string[] {
  return textsIn(lastArgument(given));
}

/** Goes by the last comma outside all parentheses, brackets, braces and literals. */
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
