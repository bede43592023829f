import { type ReadonlySignal, signal } from '@preact/signals';

export const THEMES = ['auto', 'light', 'dark'] as const;
export type ThemeName = (typeof THEMES)[number];

const STORED_AS = 'care-home-gateway.theme';

/** Light, dark, or what the device has. */
export class Theme {
  readonly #name = signal<ThemeName>(storedTheme());

  constructor() {
    this.#name.subscribe((name) => {
      document.documentElement.dataset['theme'] = name;
    });
  }

  get current(): ReadonlySignal<ThemeName> {
    return this.#name;
  }

  choose(name: ThemeName): void {
    this.#name.value = name;
    localStorage.setItem(STORED_AS, name);
  }
}

function storedTheme(): ThemeName {
  return THEMES.find((name) => name === localStorage.getItem(STORED_AS)) ?? 'auto';
}
