import { StoredChoice } from '../ui/stored-choice.js';

const LANGUAGES = ['en', 'de'] as const;
export type Language = (typeof LANGUAGES)[number];

/** How dates and numbers are written. */
export const LOCALES = { en: 'en-GB', de: 'de-DE' } as const;

/** The same words in every language; a language that lacks one does not compile. */
export type Dictionary<Words> = Readonly<Record<Language, Words>>;

/** Types the words of a part of the console by those in English. */
export function dictionary<Words>(words: {
  readonly en: Words;
  readonly de: NoInfer<Words>;
}): Dictionary<Words> {
  return words;
}

/** The language that is shown: chosen by hand, or else the first of the browser's that we speak. */
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
