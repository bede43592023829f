import { useEffect, useRef, useState } from 'preact/hooks';
import {
  type Device,
  deletePart,
  getPart,
  listLocations,
  moveDevice,
  type Room,
  renamePart,
  updateRoom,
} from '../../api.js';
import { useConsole } from '../../console-parts.js';
import { t } from '../../language.js';
import { parseExactJson, Refusal, recordOf } from '../../request.js';
import { ChangeDialog } from '../../ui/change-dialog.js';
import { useLoaded } from '../../ui/load.js';
import { GroupField, NameField, RoomField } from './fields.js';
import { movedText, type Named } from './home-action.js';
import type { Home } from './home-data.js';
import type { HomeRights } from './home-rights.js';
import { sorted } from './home-tree.js';

const removeHints = () => ({
  location: t(
    'Its groups and rooms are deleted with it, and nobody can read its alarm history any more. A home that still has devices cannot be deleted.',
    'Gruppen und Zimmer werden mitgelöscht, und niemand kann seinen Verlauf mehr lesen. Ein Heim, das noch Geräte hat, lässt sich nicht löschen.',
  ),
  group: t(
    'A group that still has rooms cannot be deleted.',
    'Eine Gruppe, die noch Zimmer hat, lässt sich nicht löschen.',
  ),
  room: t(
    'A room that still has devices cannot be deleted. The history keeps the alarms of this room.',
    'Ein Zimmer, in dem noch Geräte sind, lässt sich nicht löschen. Die Alarme aus diesem Zimmer bleiben im Verlauf.',
  ),
  device: t(
    'Its secret stops working at once, and it is disconnected. The history keeps its alarms.',
    'Das Geheimnis gilt sofort nicht mehr, und die Verbindung wird getrennt. Die Alarme des Geräts bleiben im Verlauf.',
  ),
});

const moveTitle = (name: string) => t(`Move ${name}`, `${name} verschieben`);

interface ChangeProps {
  readonly home: Home;
  readonly rights: HomeRights;
  readonly onDone: (said: string) => void;
  readonly onClose: () => void;
}

/**
 * Reads the entity tag of something, for a change that is refused if someone else makes one first.
 *
 * @throws Refusal if someone else has already renamed it
 */
async function readTagOf(locationId: string, { kind, id, name }: Named): Promise<string> {
  const { text, tag } = await getPart({ locationId, kind, id });
  const isSame = recordOf(parseExactJson(text))['name'] === name;
  if (!isSame) throw new Refusal({ code: 'precondition-failed' });
  return tag;
}

/** Reads the entity tag of something when the dialog opens; reads it again if that has failed. */
function useTag({ location }: Home, named: Named): () => Promise<string> {
  const reading = useRef<Promise<string> | undefined>(undefined);
  const read = () => {
    const tag = reading.current ?? readTagOf(location.id, named);
    reading.current = tag;
    tag.catch(() => {
      reading.current = undefined;
    });
    return tag;
  };
  useEffect(() => void read(), []);
  return read;
}

export function RenameDialog({ home, named, onDone, onClose }: ChangeProps & { named: Named }) {
  const [name, setName] = useState(named.name);
  const readTag = useTag(home, named);
  return (
    <ChangeDialog
      title={t(`Rename ${named.name}`, `${named.name} umbenennen`)}
      submit={t('Save', 'Speichern')}
      request={async () =>
        renamePart({ locationId: home.location.id, ...named }, { name }, await readTag())
      }
      onDone={() => onDone(t(`${name.trim()} was renamed.`, `${name.trim()} wurde umbenannt.`))}
      onClose={onClose}
    >
      <NameField value={name} onInput={setName} />
    </ChangeDialog>
  );
}

export function RemoveDialog({ home, named, onDone, onClose }: ChangeProps & { named: Named }) {
  const readTag = useTag(home, named);
  return (
    <ChangeDialog
      title={t(`Delete ${named.name}?`, `${named.name} löschen?`)}
      submit={t('Delete', 'Löschen')}
      isDangerous
      request={async () => deletePart({ locationId: home.location.id, ...named }, await readTag())}
      onDone={() => onDone(t(`${named.name} was deleted.`, `${named.name} wurde gelöscht.`))}
      onClose={onClose}
    >
      <p>{removeHints()[named.kind]}</p>
    </ChangeDialog>
  );
}

export function MoveRoomDialog(props: ChangeProps & { readonly room: Room }) {
  const { home, rights, room, onDone, onClose } = props;
  const [groupId, setGroupId] = useState(room.groupId);
  return (
    <ChangeDialog
      title={moveTitle(room.name)}
      submit={t('Move', 'Verschieben')}
      request={() => updateRoom({ locationId: home.location.id, roomId: room.id }, { groupId })}
      onDone={() => onDone(movedText(room.name))}
      onClose={onClose}
    >
      <GroupField groups={rights.targetGroups()} mayBeNone value={groupId} onChange={setGroupId} />
    </ChangeDialog>
  );
}

/** Moves a device within its home, or to another home that the token also manages. */
export function MoveDeviceDialog(props: ChangeProps & { readonly device: Device }) {
  const { home, rights, device, onDone, onClose } = props;
  const [roomId, setRoomId] = useState(device.roomId);
  const [targetLocationId, setTargetLocationId] = useState(home.location.id);
  const isStaying = targetLocationId === home.location.id;
  return (
    <ChangeDialog
      title={moveTitle(device.name)}
      submit={t('Move', 'Verschieben')}
      request={() =>
        moveDevice(
          { locationId: device.locationId, deviceId: device.id },
          isStaying ? { targetRoomId: roomId } : { targetLocationId },
        )
      }
      onDone={() => onDone(movedText(device.name))}
      onClose={onClose}
    >
      {rights.mayManageHome && (
        <HomeField home={home} value={targetLocationId} onChange={setTargetLocationId} />
      )}
      {isStaying ? (
        <RoomField home={home} rooms={rights.targetRooms()} value={roomId} onChange={setRoomId} />
      ) : (
        <p>
          {t(
            'There the device is in no room at first.',
            'Dort ist das Gerät zunächst in keinem Zimmer.',
          )}
        </p>
      )}
    </ChangeDialog>
  );
}

interface HomeFieldProps {
  readonly home: Home;
  readonly value: string;
  readonly onChange: (locationId: string) => void;
}

/** A choice of the homes that the token manages as a whole; nothing if this is the only one. */
function HomeField({ home, value, onChange }: HomeFieldProps) {
  const { session } = useConsole();
  const locations = useLoaded(() => listLocations(), []);
  const targets = sorted(locations.data ?? [home.location]).filter(({ id }) =>
    session.may('manager', id, null),
  );
  if (targets.length < 2) return null;
  return (
    <label>
      {t('Home', 'Heim')}
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        {targets.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
