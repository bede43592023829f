import {
  type Device,
  type Group,
  type Location,
  listDevices,
  listGroups,
  listRooms,
  type Room,
} from '../../../api.js';
import { useWords } from '../../../console-parts.js';
import { FailureText } from '../../../ui/failure-text.js';
import { useLoaded } from '../../../ui/use-request.js';
import { ALL_HOMES, type AlarmSearch } from '../history-search.js';
import { HISTORY_WORDS } from '../history-words.js';

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
  const words = useWords(HISTORY_WORDS);
  const { locationId } = search;
  const isOfAll = locationId === ALL_HOMES;
  const isKnownHome = homes.some(({ id }) => id === locationId);
  return (
    <>
      <label>
        {words.home}
        <select
          value={locationId}
          onChange={({ currentTarget }) =>
            onChange({ ...search, locationId: currentTarget.value, roomId: '', deviceId: '' })
          }
        >
          {homes.length > 1 && <option value={ALL_HOMES}>{words.allHomes}</option>}
          {!isKnownHome && !isOfAll && <option value={locationId}>{words.unknownHome}</option>}
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
  const words = useWords(HISTORY_WORDS);
  const { locationId, roomId, deviceId } = search;
  const places = useLoaded(() => readPlaces(locationId), []);
  const { rooms = [], groups = [], devices = [] } = places.data ?? {};
  return (
    <>
      <label>
        {words.room}
        <select
          value={roomId}
          onChange={({ currentTarget }) => onChange({ ...search, roomId: currentTarget.value })}
        >
          <option value="">{words.allRooms}</option>
          {isMissing(roomId, rooms) && <option value={roomId}>{words.goneRoom}</option>}
          {groups.map(({ id, name }) => (
            <RoomOptions key={id} label={name} rooms={rooms.filter((one) => one.groupId === id)} />
          ))}
          <RoomOptions label={words.noGroup} rooms={rooms.filter((one) => one.groupId === null)} />
        </select>
      </label>
      <label>
        {words.device}
        <select
          value={deviceId}
          onChange={({ currentTarget }) => onChange({ ...search, deviceId: currentTarget.value })}
        >
          <option value="">{words.allDevices}</option>
          {isMissing(deviceId, devices) && <option value={deviceId}>{words.goneDevice}</option>}
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
