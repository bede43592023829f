import { type ReadonlySignal, signal } from '@preact/signals';

export const LANGUAGES = ['en', 'de'] as const;
export type Language = (typeof LANGUAGES)[number];

/** The same words in every language; a language that lacks one does not compile. */
export type Dictionary<Words> = Readonly<Record<Language, Words>>;

/** Types the words of a part of the console by those in English. */
export function dictionary<Words>(words: {
  readonly en: Words;
  readonly de: NoInfer<Words>;
}): Dictionary<Words> {
  return words;
}

const STORED_AS = 'care-home-gateway.language';

/** The language that is shown: chosen by hand, or else the first of the browser's that we speak. */
export class LanguageChoice {
  readonly #language = signal<Language>(storedLanguage() ?? browserLanguage());

  constructor() {
    this.#language.subscribe((language) => {
      document.documentElement.lang = language;
    });
  }

  get current(): ReadonlySignal<Language> {
    return this.#language;
  }

  choose(language: Language): void {
    this.#language.value = language;
    localStorage.setItem(STORED_AS, language);
  }
}

function storedLanguage(): Language | undefined {
  return LANGUAGES.find((language) => language === localStorage.getItem(STORED_AS));
}

function browserLanguage(): Language {
  for (const wanted of navigator.languages) {
    const language = LANGUAGES.find((one) => wanted.toLowerCase().split('-')[0] === one);
    if (language !== undefined) return language;
  }
  return 'en';
}
