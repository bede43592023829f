import { StoredChoice } from '../ui/stored-choice.js';

const LANGUAGES = ['en', 'de'] as const;
export type Language = (typeof LANGUAGES)[number];

/** How dates and numbers are written. */
export const LOCALES = { en: 'en-GB', de: 'de-DE' } as const;

/** The same words in every language; a language that lacks a word does not compile. */
export type Dictionary<Words> = Readonly<Record<Language, Words>>;

/** Takes the type of the words from those in English. */
export function dictionary<Words>(words: {
  readonly en: Words;
  readonly de: NoInfer<Words>;
}): Dictionary<Words> {
  return words;
}

/** The current language: chosen by the user, or else the browser's first language that we support. */
export function languageChoice(): StoredChoice<Language> {
  return new StoredChoice({
    key: 'care-home-gateway.language',
    values: LANGUAGES,
    initial: browserLanguage(),
    apply: (language) => {
      document.documentElement.lang = language;
    },
  });
}

function browserLanguage(): Language {
  for (const wanted of navigator.languages) {
    const language = LANGUAGES.find((one) => wanted.toLowerCase().split('-')[0] === one);
    if (language !== undefined) return language;
  }
  return 'en';
}
