import { useConsole } from '../console-parts.js';
import { type Language, LOCALES } from '../words/language.js';

// Created once: creating one takes longer than drawing a row.
const FORMATS = { en: new Intl.NumberFormat(LOCALES.en), de: new Intl.NumberFormat(LOCALES.de) };

/** Writes numbers in the user's language. */
export function useNumber(): (number: number) => string {
  const { language } = useConsole();
  return FORMATS[language.current.value].format;
}

/** A size in the largest unit that it fills. */
export function formatBytes(bytes: number, language: Language): string {
  const units = ['B', 'kB', 'MB', 'GB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(bytes, 1)) / 3));
  const inUnit = Math.round(bytes / 10 ** (3 * power - 1)) / 10;
  return `${FORMATS[language].format(inUnit)} ${units[power]}`;
}
