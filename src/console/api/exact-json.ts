/** Devices may send numbers that JavaScript rounds: `9007199254740993`, `1.10`. This keeps them as written. */

/** Marks a string that contains the text of a number. */
const MARK = '\uE000';
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;
const MARKED_NUMBER = /"\uE000(-?\d[\d.eE+-]*)"/g;

/** Parses JSON; a number that JavaScript would write differently becomes a marked string. */
export function parseExactJson(text: string): unknown {
  return JSON.parse(withExactNumbers(text));
}

/** Returns the JSON with such numbers as marked strings. */
export function withExactNumbers(text: string): string {
  return text.replace(STRING_OR_NUMBER, (token) =>
    token.startsWith('"') || String(Number(token)) === token ? token : `"${MARK}${token}"`,
  );
}

/** Writes a value with its numbers as received. */
export function exactJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, undefined, indent).replace(MARKED_NUMBER, '$1');
}

/** A string, or the number that it stands for, for display. */
export function plainText(text: string): string {
  return text.startsWith(MARK) ? text.slice(MARK.length) : text;
}
