import { language, t } from '../../language.js';
import { useNames } from './names.js';

interface LocationSelectProps {
  /** The id of a home; empty for all. */
  readonly value: string;
  /** Instead of “all homes”. */
  readonly none?: string;
  readonly onChange: (locationId: string) => void;
}

/** Chooses a home, or all of them. */
export function LocationSelect({ value, none, onChange }: LocationSelectProps) {
  const locations = [...useNames().locations.value].sort(([, one], [, other]) =>
    one.localeCompare(other, language.value),
  );
  return (
    <label>
      {t('Home', 'Heim')}
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        <option value="">{none ?? t('All homes', 'Alle Heime')}</option>
        {locations.map(([id, name]) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
