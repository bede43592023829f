import { StoredChoice } from './stored-choice.js';

export type ThemeName = 'auto' | 'light' | 'dark';

/** Light, dark, or the device's setting. */
export function themeChoice(): StoredChoice<ThemeName> {
  return new StoredChoice({
    key: 'care-home-gateway.theme',
    values: ['auto', 'light', 'dark'],
    initial: 'auto',
    apply: (name) => {
      document.documentElement.dataset['theme'] = name;
    },
  });
}
