/** The two languages of the console, and `t`, which stands where a text stands. */

import { signal } from '@preact/signals';
import { StoredChoice } from './ui/stored-choice.js';

const LANGUAGES = ['en', 'de'] as const;
export type Language = (typeof LANGUAGES)[number];

/** How dates and numbers are written. */
export const LOCALES = { en: 'en-GB', de: 'de-DE' } as const;

/** The current language; a component that reads it while drawing is drawn again when it changes. */
export const language = signal<Language>('en');

/** A text in the current language: to be called where it is shown, not before. */
export function t(en: string, de: string): string {
  return language.value === 'de' ? de : en;
}

/** Sets the language: chosen by the user, or else the browser's first language that we support. */
export function languageChoice(): StoredChoice<Language> {
  return new StoredChoice({
    key: 'care-home-gateway.language',
    values: LANGUAGES,
    initial: browserLanguage(),
    apply: (chosen) => {
      language.value = chosen;
      document.documentElement.lang = chosen;
    },
  });
}

function browserLanguage(): Language {
  for (const wanted of navigator.languages) {
    const found = LANGUAGES.find((one) => wanted.toLowerCase().split('-')[0] === one);
    if (found !== undefined) return found;
  }
  return 'en';
}
