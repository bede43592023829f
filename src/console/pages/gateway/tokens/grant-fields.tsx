import { type Grant, listGroups } from '../../../api.js';
import { t } from '../../../language.js';
import { useLoaded } from '../../../ui/load.js';
import { LocationSelect } from '../location-select.js';
import { roleNames } from './token-grants.js';

const roleHints = () => ({
  viewer: t('sees alarms, history and devices', 'sieht Alarme, Verlauf und Geräte'),
  responder: t('also acknowledges and resolves alarms', 'quittiert und erledigt außerdem Alarme'),
  manager: t(
    'also changes rooms and devices, and sends commands',
    'ändert außerdem Zimmer und Geräte, und sendet Befehle',
  ),
  admin: t(
    'also everything on this page, in all homes',
    'darf außerdem alles auf dieser Seite, in allen Heimen',
  ),
  publisher: t(
    'for hubs: only sends alarms and values for devices',
    'für Zentralen: sendet nur Alarme und Werte für Geräte',
  ),
});

type Role = Grant['role'];

/** The least first; the last one, for hubs, stands apart. */
const ROLES: readonly Role[] = ['viewer', 'responder', 'manager', 'admin', 'publisher'];

interface GrantFieldsProps {
  readonly grant: Grant;
  readonly onChange: (grant: Grant) => void;
}

/** Chooses home, group and role of a grant; offers only combinations that the gateway accepts. */
export function GrantFields({ grant, onChange }: GrantFieldsProps) {
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
        {t('Role', 'Rolle')}
        <select
          value={role}
          onChange={({ currentTarget }) => {
            const chosen = roles.find((one) => one === currentTarget.value);
            if (chosen !== undefined) onChange({ ...grant, role: chosen });
          }}
        >
          {roles.map((one) => (
            <option key={one} value={one}>
              {roleNames()[one]} ({roleHints()[one]})
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
  const groups = useLoaded(() => listGroups({ locationId }), [locationId]);
  return (
    <label>
      {t('Group', 'Gruppe')}
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        <option value="">{t('The whole home', 'Das ganze Heim')}</option>
        {groups.data?.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
