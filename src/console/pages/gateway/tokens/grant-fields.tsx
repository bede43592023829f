import { type Grant, listGroups } from '../../../api.js';
import { useWords } from '../../../console-parts.js';
import { useLoaded } from '../../../ui/use-request.js';
import { LocationSelect } from '../location-select.js';
import { TOKENS_WORDS } from './tokens-words.js';

type Role = Grant['role'];

/** The least first; the last one, for hubs, stands apart. */
const ROLES: readonly Role[] = ['viewer', 'responder', 'manager', 'admin', 'publisher'];

interface GrantFieldsProps {
  readonly grant: Grant;
  readonly onChange: (grant: Grant) => void;
}

/** Chooses home, group and role of a grant; offers only combinations that the gateway accepts. */
export function GrantFields({ grant, onChange }: GrantFieldsProps) {
  const words = useWords(TOKENS_WORDS);
  const { location, group, role } = grant;
  const isEverywhere = location === '*';
  const roles = ROLES.filter((one) => one !== 'admin' || isEverywhere);
  return (
    <>
      <LocationSelect
        value={isEverywhere ? '' : location}
        onChange={(chosen) => {
          const kept = chosen !== '' && role === 'admin' ? 'manager' : role;
          onChange({ location: chosen === '' ? '*' : chosen, role: kept });
        }}
      />
      {!isEverywhere && (
        <GroupSelect
          locationId={location}
          value={group ?? ''}
          onChange={(chosen) =>
            onChange(chosen === '' ? { location, role } : { location, role, group: chosen })
          }
        />
      )}
      <label>
        {words.role}
        <select
          value={role}
          onChange={({ currentTarget }) => {
            const chosen = roles.find((one) => one === currentTarget.value);
            if (chosen !== undefined) onChange({ ...grant, role: chosen });
          }}
        >
          {roles.map((one) => (
            <option key={one} value={one}>
              {words.roles[one]} ({words.roleHints[one]})
            </option>
          ))}
        </select>
      </label>
    </>
  );
}

interface GroupSelectProps {
  readonly locationId: string;
  readonly value: string;
  readonly onChange: (groupId: string) => void;
}

/** Chooses a group of a home, or the whole home. */
export function GroupSelect({ locationId, value, onChange }: GroupSelectProps) {
  const words = useWords(TOKENS_WORDS);
  const groups = useLoaded(() => listGroups({ locationId }), [locationId]);
  return (
    <label>
      {words.group}
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        <option value="">{words.wholeHome}</option>
        {groups.data?.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
