import {
  type Device,
  type Group,
  type Location,
  listDevices,
  listGroups,
  listRooms,
  type Room,
} from '../../../api.js';
import { t } from '../../../language.js';
import { FailureText } from '../../../ui/bits.js';
import { useLoaded } from '../../../ui/load.js';
import { ALL_HOMES, type AlarmSearch } from '../history-search.js';

interface PlaceFiltersProps {
  readonly homes: readonly Location[];
  readonly search: AlarmSearch;
  readonly onChange: (search: AlarmSearch) => void;
}

interface Places {
  readonly groups: readonly Group[];
  readonly rooms: readonly Room[];
  readonly devices: readonly Device[];
}

/** Home, room and device. */
export function PlaceFilters({ homes, search, onChange }: PlaceFiltersProps) {
  const { locationId } = search;
  const isOfAll = locationId === ALL_HOMES;
  const isKnownHome = homes.some(({ id }) => id === locationId);
  return (
    <>
      <label>
        {t('Home', 'Heim')}
        <select
          value={locationId}
          onChange={({ currentTarget }) =>
            onChange({ ...search, locationId: currentTarget.value, roomId: '', deviceId: '' })
          }
        >
          {homes.length > 1 && <option value={ALL_HOMES}>{t('All homes', 'Alle Heime')}</option>}
          {!isKnownHome && !isOfAll && (
            <option value={locationId}>{t('Another home', 'Ein anderes Heim')}</option>
          )}
          {homes.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {/* The key keeps it from showing the rooms of the previous home. */}
      {!isOfAll && (
        <RoomAndDevice
          key={locationId}
          isKnownHome={isKnownHome}
          search={search}
          onChange={onChange}
        />
      )}
    </>
  );
}

interface RoomAndDeviceProps {
  readonly isKnownHome: boolean;
  readonly search: AlarmSearch;
  readonly onChange: (search: AlarmSearch) => void;
}

function RoomAndDevice({ isKnownHome, search, onChange }: RoomAndDeviceProps) {
  const { locationId, roomId, deviceId } = search;
  const places = useLoaded(() => readPlaces(locationId), []);
  const { rooms = [], groups = [], devices = [] } = places.data ?? {};
  return (
    <>
      <label>
        {t('Room', 'Zimmer')}
        <select
          value={roomId}
          onChange={({ currentTarget }) => onChange({ ...search, roomId: currentTarget.value })}
        >
          <option value="">{t('All rooms', 'Alle Zimmer')}</option>
          {isMissing(roomId, rooms) && (
            <option value={roomId}>
              {t('A room that is not here any more', 'Ein Zimmer, das es nicht mehr gibt')}
            </option>
          )}
          {groups.map(({ id, name }) => (
            <RoomOptions key={id} label={name} rooms={rooms.filter((one) => one.groupId === id)} />
          ))}
          <RoomOptions
            label={t('Without a group', 'Ohne Gruppe')}
            rooms={rooms.filter((one) => one.groupId === null)}
          />
        </select>
      </label>
      <label>
        {t('Device', 'Gerät')}
        <select
          value={deviceId}
          onChange={({ currentTarget }) => onChange({ ...search, deviceId: currentTarget.value })}
        >
          <option value="">{t('All devices', 'Alle Geräte')}</option>
          {isMissing(deviceId, devices) && (
            <option value={deviceId}>
              {t('A device that is not here any more', 'Ein Gerät, das nicht mehr hier ist')}
            </option>
          )}
          {devices.map(({ id, name, roomId: ofRoom }) => (
            <option key={id} value={id}>
              {[name, rooms.find((room) => room.id === ofRoom)?.name].filter(Boolean).join(', ')}
            </option>
          ))}
        </select>
      </label>
      {isKnownHome && <FailureText failure={places.failure} onRetry={places.again} />}
    </>
  );
}

function RoomOptions({ label, rooms }: { readonly label: string; readonly rooms: Room[] }) {
  if (rooms.length === 0) return null;
  return (
    <optgroup label={label}>
      {rooms.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </optgroup>
  );
}

async function readPlaces(locationId: string): Promise<Places> {
  const [groups, rooms, devices] = await Promise.all([
    listGroups({ locationId }),
    listRooms({ locationId }),
    listDevices({ locationId }),
  ]);
  return { groups, rooms, devices };
}

/** A link may name something deleted since: its alarms are still there. */
function isMissing(id: string, known: readonly { readonly id: string }[]): boolean {
  return id !== '' && !known.some((one) => one.id === id);
}
