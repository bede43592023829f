import type { Language } from '../../words/language.js';

/** A number as the reader's language writes it. */
export function formatNumber(number: number, language: Language): string {
  return new Intl.NumberFormat(language === 'en' ? 'en-GB' : 'de-DE').format(number);
}

/** A size in the largest unit that it fills. */
export function formatBytes(bytes: number, language: Language): string {
  const units = ['B', 'kB', 'MB', 'GB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(bytes, 1)) / 3));
  const inUnit = Math.round(bytes / 10 ** (3 * power - 1)) / 10;
  return `${formatNumber(inUnit, language)} ${units[power]}`;
}
