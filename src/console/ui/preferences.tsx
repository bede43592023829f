import { useConsole } from '../console-parts.js';
import { t } from '../language.js';
import type { StoredChoice } from './stored-choice.js';

const themeNames = () => ({
  auto: t('As the device', 'Wie das Gerät'),
  light: t('Light', 'Hell'),
  dark: t('Dark', 'Dunkel'),
});

const LANGUAGE_NAMES = { en: 'English', de: 'Deutsch' };

/** Language and colours, chosen for this device. */
export function Preferences() {
  const { language, theme } = useConsole();
  return (
    <span class="preferences">
      <ChoiceSelect
        label={t('Language', 'Sprache')}
        choice={language}
        names={LANGUAGE_NAMES}
        isOfLanguages
      />
      <ChoiceSelect label={t('Colours', 'Farben')} choice={theme} names={themeNames()} />
    </span>
  );
}

interface ChoiceSelectProps<Value extends string> {
  readonly label: string;
  readonly choice: StoredChoice<Value>;
  readonly names: Readonly<Record<Value, string>>;
  /** Whether each name is in the language that it names. */
  readonly isOfLanguages?: boolean;
}

function ChoiceSelect<Value extends string>(props: ChoiceSelectProps<Value>) {
  const { label, choice, names, isOfLanguages = false } = props;
  return (
    <select
      aria-label={label}
      value={choice.current.value}
      onChange={({ currentTarget }) => choice.choose(currentTarget.value)}
    >
      {choice.values.map((value) => (
        <option key={value} value={value} lang={isOfLanguages ? value : undefined}>
          {names[value]}
        </option>
      ))}
    </select>
  );
}
