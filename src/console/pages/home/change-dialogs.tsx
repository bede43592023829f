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
import { useConsole, useWords } from '../../console-parts.js';
import { parseExactJson, Refusal, recordOf } from '../../request.js';
import { ChangeDialog } from '../../ui/change-dialog.js';
import { useLoaded } from '../../ui/use-request.js';
import { GroupField, NameField, RoomField } from './fields.js';
import type { Named } from './home-action.js';
import type { Home } from './home-data.js';
import type { HomeRights } from './home-rights.js';
import { sorted } from './home-tree.js';
import { HOME_WORDS } from './home-words.js';

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
  const words = useWords(HOME_WORDS);
  const [name, setName] = useState(named.name);
  const readTag = useTag(home, named);
  return (
    <ChangeDialog
      title={words.renameTitle(named.name)}
      submit={words.save}
      request={async () =>
        renamePart({ locationId: home.location.id, ...named }, { name }, await readTag())
      }
      onDone={() => onDone(words.renamed(name.trim()))}
      onClose={onClose}
    >
      <NameField value={name} onInput={setName} />
    </ChangeDialog>
  );
}

export function RemoveDialog({ home, named, onDone, onClose }: ChangeProps & { named: Named }) {
  const words = useWords(HOME_WORDS);
  const readTag = useTag(home, named);
  return (
    <ChangeDialog
      title={words.removeTitle(named.name)}
      submit={words.remove}
      isDangerous
      request={async () => deletePart({ locationId: home.location.id, ...named }, await readTag())}
      onDone={() => onDone(words.removed(named.name))}
      onClose={onClose}
    >
      <p>{words.removeHints[named.kind]}</p>
    </ChangeDialog>
  );
}

export function MoveRoomDialog(props: ChangeProps & { readonly room: Room }) {
  const { home, rights, room, onDone, onClose } = props;
  const words = useWords(HOME_WORDS);
  const [groupId, setGroupId] = useState(room.groupId);
  return (
    <ChangeDialog
      title={words.moveTitle(room.name)}
      submit={words.move}
      request={() => updateRoom({ locationId: home.location.id, roomId: room.id }, { groupId })}
      onDone={() => onDone(words.moved(room.name))}
      onClose={onClose}
    >
      <GroupField groups={rights.targetGroups()} mayBeNone value={groupId} onChange={setGroupId} />
    </ChangeDialog>
  );
}

/** Moves a device within its home, or to another home that the token also manages. */
export function MoveDeviceDialog(props: ChangeProps & { readonly device: Device }) {
  const { home, rights, device, onDone, onClose } = props;
  const words = useWords(HOME_WORDS);
  const [roomId, setRoomId] = useState(device.roomId);
  const [targetLocationId, setTargetLocationId] = useState(home.location.id);
  const isStaying = targetLocationId === home.location.id;
  return (
    <ChangeDialog
      title={words.moveTitle(device.name)}
      submit={words.move}
      request={() =>
        moveDevice(
          { locationId: device.locationId, deviceId: device.id },
          isStaying ? { targetRoomId: roomId } : { targetLocationId },
        )
      }
      onDone={() => onDone(words.moved(device.name))}
      onClose={onClose}
    >
      {rights.mayManageHome && (
        <HomeField home={home} value={targetLocationId} onChange={setTargetLocationId} />
      )}
      {isStaying ? (
        <RoomField home={home} rooms={rights.targetRooms()} value={roomId} onChange={setRoomId} />
      ) : (
        <p>{words.otherHomeHint}</p>
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
  const words = useWords(HOME_WORDS);
  const locations = useLoaded(() => listLocations(), []);
  const targets = sorted(locations.data ?? [home.location]).filter(({ id }) =>
    session.may('manager', id, null),
  );
  if (targets.length < 2) return null;
  return (
    <label>
      {words.home}
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
