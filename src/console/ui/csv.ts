import type { Language } from '../language.js';

/** Tells Excel that the file is UTF-8. */
export const BYTE_ORDER_MARK = '\uFEFF';

/** Separators of cells by language: a spreadsheet that writes 1,5 does not accept commas. */
export const SEPARATORS: Readonly<Record<Language, string>> = { en: ',', de: ';' };

/** Writes rows as CSV (RFC 4180) for a spreadsheet. */
export function csvText(rows: readonly (readonly string[])[], separator: string): string {
  return BYTE_ORDER_MARK + rows.map((cells) => csvLine(cells, separator)).join('');
}

/** Writes one row. */
export function csvLine(cells: readonly string[], separator: string): string {
  return `${cells.map((cell) => csvCell(cell, separator)).join(separator)}\r\n`;
}

function csvCell(cell: string, separator: string): string {
  // A spreadsheet would run these as formulas; after an apostrophe they are text.
  const text = /^[=+\-@＝＋－＠\t\r]/.test(cell) ? `'${cell}` : cell;
  const needsQuotes = text.includes(separator) || /["\r\n]/.test(text) || text !== cell;
  return needsQuotes ? `"${text.replaceAll('"', '""')}"` : text;
}
