import { useState } from 'preact/hooks';
import { createGroup, createLocation, createRoom, type Location } from '../../api.js';
import { useWords } from '../../console-parts.js';
import { ChangeDialog } from '../../ui/change-dialog.js';
import { GroupField, NameField, RoomField } from './fields.js';
import type { Home } from './home-data.js';
import type { HomeRights } from './home-rights.js';
import { HOME_WORDS } from './home-words.js';
import { type IssuedDevice, issueDevice, newDeviceId } from './issued/issue-device.js';

interface CreateHomeProps {
  readonly onDone: (location: Location) => void;
  readonly onClose: () => void;
}

export function CreateHomeDialog({ onDone, onClose }: CreateHomeProps) {
  const words = useWords(HOME_WORDS);
  const [name, setName] = useState('');
  return (
    <ChangeDialog
      title={words.newHome}
      submit={words.create}
      request={() => createLocation({ name })}
      onDone={onDone}
      onClose={onClose}
    >
      <NameField value={name} onInput={setName} />
    </ChangeDialog>
  );
}

interface CreateProps {
  readonly home: Home;
  readonly rights: HomeRights;
  readonly onDone: (said: string) => void;
  readonly onClose: () => void;
}

export function CreateGroupDialog({ home, onDone, onClose }: CreateProps) {
  const words = useWords(HOME_WORDS);
  const [name, setName] = useState('');
  return (
    <ChangeDialog
      title={words.newGroup}
      submit={words.create}
      request={() => createGroup({ locationId: home.location.id }, { name })}
      onDone={(group) => onDone(words.created(group.name))}
      onClose={onClose}
    >
      <NameField value={name} onInput={setName} />
    </ChangeDialog>
  );
}

export function CreateRoomDialog(props: CreateProps & { readonly groupId: string | null }) {
  const { home, rights, onDone, onClose } = props;
  const words = useWords(HOME_WORDS);
  const groups = rights.targetGroups();
  const [name, setName] = useState('');
  const first = rights.mayManageHome ? null : (groups[0]?.id ?? null);
  const [groupId, setGroupId] = useState(props.groupId ?? first);
  return (
    <ChangeDialog
      title={words.newRoom}
      submit={words.create}
      request={() => createRoom({ locationId: home.location.id }, { name, groupId })}
      onDone={(room) => onDone(words.created(room.name))}
      onClose={onClose}
    >
      <NameField value={name} onInput={setName} />
      <GroupField
        groups={groups}
        mayBeNone={rights.mayManageHome}
        value={groupId}
        onChange={setGroupId}
      />
    </ChangeDialog>
  );
}

interface CreateDeviceProps extends Omit<CreateProps, 'onDone'> {
  readonly roomId: string | null;
  readonly onDone: (device: IssuedDevice) => void;
}

export function CreateDeviceDialog({ home, rights, onDone, onClose, ...rest }: CreateDeviceProps) {
  const words = useWords(HOME_WORDS);
  const [id] = useState(newDeviceId);
  const [name, setName] = useState('');
  const [roomId, setRoomId] = useState(rest.roomId);
  const room = home.rooms.find((one) => one.id === roomId);
  return (
    <ChangeDialog
      title={words.newDevice}
      submit={words.create}
      request={() => issueDevice(home.location.id, { id, name: name.trim(), room })}
      onDone={onDone}
      onClose={onClose}
    >
      <NameField value={name} onInput={setName} />
      <RoomField home={home} rooms={rights.targetRooms()} value={roomId} onChange={setRoomId} />
    </ChangeDialog>
  );
}
