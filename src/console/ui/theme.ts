import { StoredChoice } from './stored-choice.js';

export type ThemeName = 'auto' | 'light' | 'dark';

/** Light, dark, or what the device has. */
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
