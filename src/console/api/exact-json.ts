/** Devices may send any number, and JavaScript rounds: `9007199254740993`, `1.10`. They are kept as written. */

/** Before the text of a number in a string that stands for it. */
const MARK = '\uE000';
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;
const MARKED_NUMBER = /"\uE000(-?\d[\d.eE+-]*)"/g;

/** Parses JSON; a number that JavaScript would write otherwise becomes a marked string. */
export function parseExactJson(text: string): unknown {
  return JSON.parse(withExactNumbers(text));
}

/** The JSON with such numbers as marked strings. */
export function withExactNumbers(text: string): string {
  return text.replace(STRING_OR_NUMBER, (token) =>
    token.startsWith('"') || String(Number(token)) === token ? token : `"${MARK}${token}"`,
  );
}

/** Writes a value with its numbers as they came. */
export function exactJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, undefined, indent).replace(MARKED_NUMBER, '$1');
}

/** A string, or the number that it stands for, to be read. */
export function plainText(text: string): string {
  return text.startsWith(MARK) ? text.slice(MARK.length) : text;
}
