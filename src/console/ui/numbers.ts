import { LOCALES, language } from '../language.js';

// Created once: creating one takes longer than drawing a row.
const FORMATS = { en: new Intl.NumberFormat(LOCALES.en), de: new Intl.NumberFormat(LOCALES.de) };

/** Writes a number in the user's language. */
export function number(value: number): string {
  return FORMATS[language.value].format(value);
}

/** A size in the largest unit that it fills. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(bytes, 1)) / 3));
  const inUnit = Math.round(bytes / 10 ** (3 * power - 1)) / 10;
  return `${number(inUnit)} ${units[power]}`;
}
