import type { Language } from '../words/language.js';

/** By it Excel knows UTF-8. */
export const BYTE_ORDER_MARK = '\uFEFF';

/** Separators of cells by language: a spreadsheet that writes 1,5 takes no commas there. */
export const SEPARATORS: Readonly<Record<Language, string>> = { en: ',', de: ';' };

/** Writes rows as CSV (RFC 4180) for a spreadsheet. */
export function csvText(rows: readonly (readonly string[])[], separator: string): string {
  return BYTE_ORDER_MARK + rows.map((cells) => csvLine(cells, separator)).join('');
}

/** Writes one of the rows. */
export function csvLine(cells: readonly string[], separator: string): string {
  return `${cells.map((cell) => csvCell(cell, separator)).join(separator)}\r\n`;
}

function csvCell(cell: string, separator: string): string {
  // A spreadsheet would run these as formulas; behind an apostrophe they are text.
  const text = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  const needsQuotes = text.includes(separator) || /["\r\n]/.test(text) || text !== cell;
  return needsQuotes ? `"${text.replaceAll('"', '""')}"` : text;
}
