import type { Group, Room } from '../../api.js';
import { t } from '../../language.js';
import type { Home } from './home-data.js';
import { sorted } from './home-tree.js';

interface NameFieldProps {
  readonly value: string;
  readonly onInput: (name: string) => void;
}

/** The name of a home, group, room or device. */
export function NameField({ value, onInput }: NameFieldProps) {
  return (
    <label>
      {t('Name', 'Name')}
      <input
        required
        autofocus
        autocomplete="off"
        value={value}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
    </label>
  );
}

interface GroupFieldProps {
  readonly groups: readonly Group[];
  /** Whether to offer the choice of no group. */
  readonly mayBeNone: boolean;
  readonly value: string | null;
  readonly onChange: (groupId: string | null) => void;
}

/** A choice of a group, or of none. */
export function GroupField({ groups, mayBeNone, value, onChange }: GroupFieldProps) {
  return (
    <label>
      {t('Group', 'Gruppe')}
      <select
        value={value ?? ''}
        onChange={({ currentTarget }) => onChange(idOf(currentTarget.value))}
      >
        {mayBeNone && <option value="">{t('No group', 'Keine Gruppe')}</option>}
        {groups.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

interface RoomFieldProps {
  readonly home: Home;
  readonly rooms: readonly Room[];
  readonly value: string | null;
  readonly onChange: (roomId: string | null) => void;
}

/** A choice of a room, by its group, or of none. */
export function RoomField({ home, rooms, value, onChange }: RoomFieldProps) {
  const groups = sorted(home.groups).map(({ id, name }) => ({
    name,
    rooms: rooms.filter(({ groupId }) => groupId === id),
  }));
  return (
    <label>
      {t('Room', 'Zimmer')}
      <select
        value={value ?? ''}
        onChange={({ currentTarget }) => onChange(idOf(currentTarget.value))}
      >
        <option value="">{t('No room', 'Kein Zimmer')}</option>
        <RoomOptions rooms={rooms.filter(({ groupId }) => groupId === null)} />
        {groups
          .filter((group) => group.rooms.length > 0)
          .map((group) => (
            <optgroup key={group.name} label={group.name}>
              <RoomOptions rooms={group.rooms} />
            </optgroup>
          ))}
      </select>
    </label>
  );
}

function RoomOptions({ rooms }: { readonly rooms: readonly Room[] }) {
  return (
    <>
      {rooms.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </>
  );
}

function idOf(value: string): string | null {
  return value === '' ? null : value;
}
