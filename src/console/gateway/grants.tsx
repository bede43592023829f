/** What an access token may do: in words, and as fields that offer only what the gateway accepts. */

import { useState } from 'preact/hooks';
import { type Grant, listGroups } from '../api.js';
import { t } from '../language.js';
import { ALL_HOMES } from '../session.js';
import { Choice, type Option } from '../ui/fields.js';
import { useLoaded } from '../ui/load.js';
import { Deleted, HomeChoice, HomeName, knownHomes } from './named.js';

type Role = Grant['role'];

const roleNames = (): Readonly<Record<Role, string>> => ({
  viewer: t('Viewer', 'Lesen'),
  responder: t('Responder', 'Reagieren'),
  manager: t('Manager', 'Verwalten'),
  admin: t('Administrator', 'Alles'),
  publisher: t('Publisher', 'Veröffentlichen'),
});

const roleHints = (): Readonly<Record<Role, string>> => ({
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

/** The least first; the last one, for hubs, stands apart. */
export const ROLES: readonly Role[] = ['viewer', 'responder', 'manager', 'admin', 'publisher'];

/** The names of groups by their ids; undefined until they are read. */
type GroupNames = ReadonlyMap<string, string> | undefined;

/** The names of the groups in the grants: their homes are read once, however many grants are in them. */
export function useGroupNames(grants: readonly Grant[]): GroupNames {
  const wanted = new Set(
    grants.flatMap(({ location, group }) => (group === undefined ? [] : [location])),
  );
  const ids = [...wanted].filter((id) => knownHomes()?.has(id)).sort();
  const read = () => Promise.all(ids.map((locationId) => listGroups({ locationId })));
  const { data } = useLoaded(read, [ids.join()]);
  return data && new Map(data.flat().map(({ id, name }) => [id, name]));
}

interface GrantsTextProps {
  readonly grants: readonly Grant[];
  readonly groups: GroupNames;
}

/** Grants in words. */
export function GrantsText({ grants, groups }: GrantsTextProps) {
  return (
    <ul class="plain">
      {grants.map(({ location, group, role }) => (
        <li key={`${location} ${group} ${role}`}>
          {roleNames()[role]}:{' '}
          {location === ALL_HOMES ? t('All homes', 'Alle Heime') : <HomeName id={location} />}
          {group !== undefined && (
            <>
              , {t('group', 'Gruppe')}{' '}
              {groups === undefined ? (
                <code>{group}</code>
              ) : (
                (groups.get(group) ?? <Deleted id={group} />)
              )}
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

interface NumberedGrant {
  /** Keeps the grant with its fields when another is removed. */
  readonly number: number;
  readonly grant: Grant;
}

interface GrantListProps {
  readonly initial: readonly Grant[];
  readonly onChange: (grants: Grant[]) => void;
}

/** The fields of one grant or of several. */
export function GrantList({ initial, onChange }: GrantListProps) {
  const [list, setList] = useState<readonly NumberedGrant[]>(
    initial.map((grant, number) => ({ number, grant })),
  );
  const change = (changed: readonly NumberedGrant[]) => {
    setList(changed);
    onChange(changed.map(({ grant }) => grant));
  };
  const add = () => change([...list, { number: (list.at(-1)?.number ?? 0) + 1, grant: LEAST }]);
  return (
    <>
      {list.map(({ number, grant }, index) => (
        <fieldset key={number} class="form">
          <legend>{t(`Grant ${index + 1}`, `Recht ${index + 1}`)}</legend>
          <GrantFields
            grant={grant}
            onChange={(changed) =>
              change(list.map((one) => (one.number === number ? { number, grant: changed } : one)))
            }
          />
          {list.length > 1 && (
            <button
              type="button"
              onClick={() => change(list.filter((one) => one.number !== number))}
            >
              {t('Remove this grant', 'Dieses Recht entfernen')}
            </button>
          )}
        </fieldset>
      ))}
      <button type="button" onClick={add}>
        {t('Another grant', 'Weiteres Recht')}
      </button>
    </>
  );
}

/** What a new grant is at first. */
export const LEAST: Grant = { location: ALL_HOMES, role: 'viewer' };

interface GrantFieldsProps {
  readonly grant: Grant;
  readonly onChange: (grant: Grant) => void;
}

function GrantFields({ grant, onChange }: GrantFieldsProps) {
  const { location, group, role } = grant;
  const isEverywhere = location === ALL_HOMES;
  const roles = ROLES.filter((one) => one !== 'admin' || isEverywhere);
  return (
    <>
      <HomeChoice
        value={isEverywhere ? '' : location}
        none={t('All homes', 'Alle Heime')}
        onChange={(chosen) => {
          const kept = chosen !== '' && role === 'admin' ? 'manager' : role;
          onChange({ location: chosen === '' ? ALL_HOMES : chosen, role: kept });
        }}
      />
      {!isEverywhere && (
        <GroupChoice
          locationId={location}
          value={group ?? ''}
          onChange={(chosen) =>
            onChange(chosen === '' ? { location, role } : { location, role, group: chosen })
          }
        />
      )}
      <Choice
        label={t('Role', 'Rolle')}
        value={role}
        options={roles.map((one) => [one, roleNames()[one]] as const)}
        onChange={(chosen) => onChange({ ...grant, role: chosen })}
      />
      <p class="hint">{roleHints()[role]}</p>
    </>
  );
}

interface GroupChoiceProps {
  readonly locationId: string;
  /** The id of a group; empty for the whole home. */
  readonly value: string;
  readonly onChange: (groupId: string) => void;
}

/** Chooses a group of a home, or the whole home. */
export function GroupChoice({ locationId, value, onChange }: GroupChoiceProps) {
  const groups = useLoaded(() => listGroups({ locationId }), [locationId]);
  const options = groups.data?.map(({ id, name }): Option<string> => [id, name]) ?? [];
  // A token may have a grant of a group that was deleted, or is not read yet.
  const isKnown = value === '' || options.some(([id]) => id === value);
  const others: readonly Option<string>[] = isKnown ? options : [...options, [value, value]];
  return (
    <Choice
      label={t('Group', 'Gruppe')}
      value={value}
      options={[['', t('The whole home', 'Das ganze Heim')], ...others]}
      onChange={onChange}
    />
  );
}
