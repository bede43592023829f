/**
 * The one dialog that creates, renames, moves and deletes what is in a home, and the home itself.
 *
 * What it changes, it reads as it opens: a change is refused if somebody else has made one since.
 */

import { useEffect, useRef, useState } from 'preact/hooks';
import {
  createGroup,
  createLocation,
  createRoom,
  type Device,
  deletePart,
  type Group,
  getPart,
  type Location,
  listLocations,
  moveDevice,
  type Named,
  type Part,
  type Room,
  renamePart,
  updateRoom,
} from '../api.js';
import { t } from '../language.js';
import { parseExactJson, Refusal, recordOf } from '../request.js';
import { session } from '../session.js';
import { ChangeDialog, openDialog, useCloseDialog } from '../ui/dialog.js';
import { Choice, NameText, type Option } from '../ui/fields.js';
import { useLoaded } from '../ui/load.js';
import { type Home, HomeRights, sorted } from './home.js';
import { type IssuedDevice, issueDevice, newDeviceId } from './issue.js';

/** What is edited, and the one that is; without one, it is created. */
export type Edited =
  | { readonly what: 'location'; readonly of: Location }
  | { readonly what: 'group'; readonly of?: Group }
  | { readonly what: 'room'; readonly of?: Room }
  | { readonly what: 'device'; readonly of?: Device };

interface EditDialogProps {
  readonly home: Home;
  readonly edited: Edited;
  /** Called after a change, and if it is deleted. */
  readonly onChanged: (said: string, isDeleted: boolean) => void;
  readonly onIssued: (device: IssuedDevice) => void;
  /** Called after a refusal: the page may be out of date. */
  readonly onRefused: () => void;
}

/** Creates something, or changes its name and place. */
export function EditDialog(props: EditDialogProps) {
  const { home, edited, onChanged, onIssued, onRefused } = props;
  const { what, of } = edited;
  const [name, setName] = useState(of?.name ?? '');
  const [place, setPlace] = useState(() => placeOf(home, edited));
  const [newId] = useState(newDeviceId);
  const seen = useSeen(home, edited);
  const request = () => {
    const wanted = { ...place, name: name.trim(), id: newId };
    if (of === undefined) return create(home, what, wanted);
    return seen()
      .then((known) => change(home, edited, wanted, known))
      .catch(refusal(onRefused));
  };
  return (
    <ChangeDialog
      title={of === undefined ? newTitle(what) : t(`Edit ${of.name}`, `${of.name} bearbeiten`)}
      submit={of === undefined ? t('Create', 'Anlegen') : t('Save', 'Speichern')}
      request={request}
      onDone={(issued) => {
        if (issued !== undefined) onIssued(issued);
        else onChanged(savedText(name.trim(), of === undefined), false);
      }}
    >
      <NameText value={name} onChange={setName} />
      {(what === 'room' || what === 'device') && (
        <PlaceFields home={home} what={what} of={of} place={place} onChange={setPlace} />
      )}
      {of !== undefined && (what !== 'location' || session.isAdmin.value) && (
        <DeleteButton {...props} of={of} seen={seen} />
      )}
    </ChangeDialog>
  );
}

const newTitle = (what: Part['kind']) =>
  ({
    location: t('New home', 'Neues Heim'),
    group: t('New group', 'Neue Gruppe'),
    room: t('New room', 'Neues Zimmer'),
    device: t('New device', 'Neues Gerät'),
  })[what];

const savedText = (name: string, isNew: boolean) =>
  isNew
    ? t(`${name} was created.`, `${name} wurde angelegt.`)
    : t(`${name} was saved.`, `${name} wurde gespeichert.`);

/** Where something is; of a room its group counts, of a device its home and room. */
interface Place {
  readonly locationId: string;
  readonly groupId: string | null;
  readonly roomId: string | null;
}

function placeOf(home: Home, { what, of }: Edited): Place {
  const rights = new HomeRights(home);
  const [group] = rights.targetGroups();
  const first = rights.mayManageHome ? null : (group?.id ?? null);
  return {
    locationId: home.location.id,
    groupId: what === 'room' && of !== undefined ? of.groupId : first,
    roomId: what === 'device' && of !== undefined ? of.roomId : null,
  };
}

type Wanted = Place & Named;

/** @returns the device with its secret if it is one */
async function create(
  { location, rooms }: Home,
  what: Part['kind'],
  { id, name, groupId, roomId }: Wanted,
): Promise<IssuedDevice | undefined> {
  const at = { locationId: location.id };
  if (what === 'group') await createGroup(at, { name });
  if (what === 'room') await createRoom(at, { name, groupId });
  if (what !== 'device') return undefined;
  return issueDevice(location.id, { id, name, room: rooms.find((room) => room.id === roomId) });
}

/** What the dialog has read of something, or made of it since. */
interface Seen {
  tag: string;
  name: string;
}

async function change(
  { location }: Home,
  { what, of }: Edited,
  { name, ...place }: Wanted,
  seen: Seen,
): Promise<undefined> {
  if (of === undefined) return;
  const at = { locationId: location.id };
  if (what === 'room') {
    const { groupId } = place;
    await updateRoom({ ...at, roomId: of.id }, { name, groupId }, seen.tag);
    return;
  }
  if (name !== seen.name) {
    const { tag } = await renamePart({ ...at, kind: what, id: of.id }, { name }, seen.tag);
    // If the move is refused, what is sent again is the move alone.
    seen.tag = tag;
    seen.name = name;
  }
  if (what !== 'device') return;
  const { locationId, roomId } = place;
  const target =
    locationId === location.id ? { targetRoomId: roomId } : { targetLocationId: locationId };
  if (locationId !== location.id || roomId !== of.roomId) {
    await moveDevice({ ...at, deviceId: of.id }, target, seen.tag);
  }
}

function refusal(onRefused: () => void): (error: unknown) => never {
  return (error) => {
    onRefused();
    throw error;
  };
}

/** Reads something as the dialog opens; reads it again if that has failed. */
function useSeen(home: Home, edited: Edited): () => Promise<Seen> {
  const reading = useRef<Promise<Seen> | undefined>(undefined);
  const read = () => {
    const seen = reading.current ?? readSeen(home.location.id, edited);
    reading.current = seen;
    seen.catch(() => {
      reading.current = undefined;
    });
    return seen;
  };
  useEffect(() => {
    if (edited.of !== undefined) void read();
  }, []);
  return read;
}

/** @throws Refusal if it is not as shown: somebody else has changed it */
async function readSeen(locationId: string, { what, of }: Edited): Promise<Seen> {
  const { id = '', name = '' } = of ?? {};
  const { text, tag } = await getPart({ locationId, kind: what, id });
  const stored = recordOf(parseExactJson(text));
  const shown = recordOf(of);
  const isAsShown = ['name', 'groupId', 'roomId'].every((member) => {
    return stored[member] === shown[member];
  });
  if (!isAsShown) throw new Refusal({ code: 'precondition-failed' });
  return { tag, name };
}

interface PlaceFieldsProps {
  readonly home: Home;
  readonly what: 'room' | 'device';
  readonly of: Named | undefined;
  readonly place: Place;
  readonly onChange: (place: Place) => void;
}

/** Where it is to be: a room in a group, a device in a room or in another home. */
function PlaceFields({ home, what, of, place, onChange }: PlaceFieldsProps) {
  const rights = new HomeRights(home);
  if (what === 'room') {
    return (
      <GroupChoice
        home={home}
        value={place.groupId}
        onChange={(groupId) => onChange({ ...place, groupId })}
      />
    );
  }
  const groupNames = new Map(home.groups.map(({ id, name }) => [id, name]));
  const rooms = rights.targetRooms().map(({ id, name, groupId }): Option<string> => {
    return [id, name, groupNames.get(groupId ?? '')];
  });
  return (
    <>
      {of !== undefined && rights.mayManageHome && (
        <HomeChoice
          home={home}
          value={place.locationId}
          onChange={(locationId) => onChange({ ...place, locationId })}
        />
      )}
      {place.locationId === home.location.id ? (
        <Choice
          label={t('Room', 'Zimmer')}
          value={place.roomId ?? ''}
          options={[['', t('No room', 'Kein Zimmer')], ...rooms]}
          onChange={(roomId) => onChange({ ...place, roomId: roomId === '' ? null : roomId })}
        />
      ) : (
        <p>
          {t(
            'There the device is in no room at first.',
            'Dort ist das Gerät zunächst in keinem Zimmer.',
          )}
        </p>
      )}
    </>
  );
}

interface GroupChoiceProps {
  readonly home: Home;
  readonly value: string | null;
  readonly onChange: (groupId: string | null) => void;
}

/** A group that the token manages, or none if it manages the home. */
export function GroupChoice({ home, value, onChange }: GroupChoiceProps) {
  const rights = new HomeRights(home);
  const groups = rights.targetGroups().map(({ id, name }): Option<string> => [id, name]);
  const none: Option<string> = ['', t('No group', 'Keine Gruppe')];
  return (
    <Choice
      label={t('Group', 'Gruppe')}
      value={value ?? ''}
      options={rights.mayManageHome ? [none, ...groups] : groups}
      onChange={(groupId) => onChange(groupId === '' ? null : groupId)}
    />
  );
}

interface HomeChoiceProps {
  readonly home: Home;
  readonly value: string;
  readonly onChange: (locationId: string) => void;
}

/** The homes that the token manages as a whole; nothing if this is the only one. */
function HomeChoice({ home, value, onChange }: HomeChoiceProps) {
  const locations = useLoaded(() => listLocations(), []);
  const targets = sorted(locations.data ?? [home.location]).filter(({ id }) =>
    session.may('manager', id, null),
  );
  if (targets.length < 2) return null;
  return (
    <Choice
      label={t('Home', 'Heim')}
      value={value}
      options={targets.map(({ id, name }) => [id, name])}
      onChange={onChange}
    />
  );
}

const deleteHint = (what: Part['kind']) =>
  ({
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
  })[what];

interface DeleteButtonProps extends EditDialogProps {
  readonly of: Named;
  readonly seen: () => Promise<Seen>;
}

/** Asks in a dialog of its own. */
function DeleteButton({ home, edited, of, seen, onChanged, onRefused }: DeleteButtonProps) {
  const close = useCloseDialog();
  const at = { locationId: home.location.id, kind: edited.what, id: of.id };
  const ask = () => {
    close();
    openDialog(
      <ChangeDialog
        title={t(`Delete ${of.name}?`, `${of.name} löschen?`)}
        submit={t('Delete', 'Löschen')}
        isDangerous
        request={() =>
          seen()
            .then(({ tag }) => deletePart(at, tag))
            .catch(refusal(onRefused))
        }
        onDone={() => onChanged(t(`${of.name} was deleted.`, `${of.name} wurde gelöscht.`), true)}
      >
        <p>{deleteHint(edited.what)}</p>
      </ChangeDialog>,
    );
  };
  return (
    <div class="row">
      <button type="button" class="danger" onClick={ask}>
        {t('Delete …', 'Löschen …')}
      </button>
    </div>
  );
}

/** Creates a home. */
export function NewHomeDialog({ onDone }: { readonly onDone: (location: Location) => void }) {
  const [name, setName] = useState('');
  return (
    <ChangeDialog
      title={newTitle('location')}
      submit={t('Create', 'Anlegen')}
      request={() => createLocation({ name })}
      onDone={onDone}
    >
      <NameText value={name} onChange={setName} />
    </ChangeDialog>
  );
}
