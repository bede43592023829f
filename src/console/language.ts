/**
 * The two languages of the console: `t`, which stands where a text stands, and how dates and numbers are written.
 *
 * A component that calls one of them while drawing is drawn again when the language changes.
 */

import { StoredChoice } from './kept.js';

export type Language = 'en' | 'de';

export const languageChoice = new StoredChoice('care-home-gateway.language', ['en', 'de'], 'en');
export const language = languageChoice.current;

/** Takes the language chosen before, or else the browser's first language that we support. */
export function restoreLanguage(): void {
  for (const wanted of navigator.languages.toReversed()) {
    const found = languageChoice.values.find((one) => wanted.toLowerCase().split('-')[0] === one);
    if (found !== undefined) language.value = found;
  }
  languageChoice.restore((chosen) => {
    document.documentElement.lang = chosen;
  });
}

/** A text in the current language: to be called where it is shown, not before. */
export function t(en: string, de: string): string {
  return language.value === 'de' ? de : en;
}

const LOCALES = { en: 'en-GB', de: 'de-DE' } as const;

// Created once: creating one takes longer than drawing a row.
const FORMATS = { en: formats('en'), de: formats('de') };

function formats(of: Language) {
  const locale = LOCALES[of];
  return {
    number: new Intl.NumberFormat(locale),
    date: new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' }),
    ago: new Intl.RelativeTimeFormat(of, { style: 'short' }),
  };
}

/** How dates and numbers are written, as a BCP 47 tag. */
export function locale(): string {
  return LOCALES[language.value];
}

export function number(value: number): string {
  return FORMATS[language.value].number.format(value);
}

/** A size in the largest unit that it fills. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(bytes, 1)) / 3));
  const inUnit = Math.round(bytes / 10 ** (3 * power - 1)) / 10;
  return `${number(inUnit)} ${units[power]}`;
}

/** A date and time in the browser's time zone. */
export function dateTime(at: string): string {
  return FORMATS[language.value].date.format(new Date(at));
}

const UNITS = [
  { unit: 'day', ms: 86_400_000 },
  { unit: 'hour', ms: 3_600_000 },
  { unit: 'minute', ms: 60_000 },
  { unit: 'second', ms: 1_000 },
] as const;

/** How long ago something was, in words. */
export function ago(atMs: number, nowMs: number): string {
  const passedMs = Math.max(0, nowMs - atMs);
  const { unit, ms } = UNITS.find((one) => passedMs >= one.ms) ?? UNITS[3];
  return FORMATS[language.value].ago.format(-Math.floor(passedMs / ms), unit);
}
