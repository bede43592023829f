import { useConsole, useWords } from '../console-parts.js';
import { SHELL_WORDS } from '../shell-words.js';
import { LANGUAGES } from '../words/language.js';
import { THEMES } from './theme.js';

const LANGUAGE_NAMES = { en: 'English', de: 'Deutsch' };

/** Language and colours, chosen for this device. */
export function Preferences() {
  const { language, theme } = useConsole();
  const words = useWords(SHELL_WORDS);
  return (
    <span class="preferences">
      <select
        aria-label={words.language}
        value={language.current.value}
        onChange={({ currentTarget }) => {
          const chosen = LANGUAGES.find((one) => one === currentTarget.value);
          if (chosen !== undefined) language.choose(chosen);
        }}
      >
        {LANGUAGES.map((one) => (
          <option key={one} value={one} lang={one}>
            {LANGUAGE_NAMES[one]}
          </option>
        ))}
      </select>
      <select
        aria-label={words.theme}
        value={theme.current.value}
        onChange={({ currentTarget }) => {
          const chosen = THEMES.find((one) => one === currentTarget.value);
          if (chosen !== undefined) theme.choose(chosen);
        }}
      >
        {THEMES.map((one) => (
          <option key={one} value={one}>
            {words.themes[one]}
          </option>
        ))}
      </select>
    </span>
  );
}
