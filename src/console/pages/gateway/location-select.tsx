import { useWords } from '../../console-parts.js';
import { GATEWAY_WORDS } from './gateway-words.js';
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
  const words = useWords(GATEWAY_WORDS);
  const locations = [...useNames().locations.value].sort(([, one], [, other]) =>
    one.localeCompare(other),
  );
  return (
    <label>
      {words.home}
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        <option value="">{none ?? words.allHomes}</option>
        {locations.map(([id, name]) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
