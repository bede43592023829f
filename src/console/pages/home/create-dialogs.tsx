import { useState } from 'preact/hooks';
import { createGroup, createLocation, createRoom, type Location } from '../../api.js';
import { t } from '../../language.js';
import { ChangeDialog } from '../../ui/change-dialog.js';
import { GroupField, NameField, RoomField } from './fields.js';
import { createdText } from './home-action.js';
import type { Home } from './home-data.js';
import type { HomeRights } from './home-rights.js';
import { type IssuedDevice, issueDevice, newDeviceId } from './issued/issue-device.js';

interface CreateHomeProps {
  readonly onDone: (location: Location) => void;
  readonly onClose: () => void;
}

export function CreateHomeDialog({ onDone, onClose }: CreateHomeProps) {
  const [name, setName] = useState('');
  return (
    <ChangeDialog
      title={t('New home', 'Neues Heim')}
      submit={t('Create', 'Anlegen')}
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
  const [name, setName] = useState('');
  return (
    <ChangeDialog
      title={t('New group', 'Neue Gruppe')}
      submit={t('Create', 'Anlegen')}
      request={() => createGroup({ locationId: home.location.id }, { name })}
      onDone={(group) => onDone(createdText(group.name))}
      onClose={onClose}
    >
      <NameField value={name} onInput={setName} />
    </ChangeDialog>
  );
}

export function CreateRoomDialog(props: CreateProps & { readonly groupId: string | null }) {
  const { home, rights, onDone, onClose } = props;
  const groups = rights.targetGroups();
  const [name, setName] = useState('');
  const first = rights.mayManageHome ? null : (groups[0]?.id ?? null);
  const [groupId, setGroupId] = useState(props.groupId ?? first);
  return (
    <ChangeDialog
      title={t('New room', 'Neues Zimmer')}
      submit={t('Create', 'Anlegen')}
      request={() => createRoom({ locationId: home.location.id }, { name, groupId })}
      onDone={(room) => onDone(createdText(room.name))}
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
  const [id] = useState(newDeviceId);
  const [name, setName] = useState('');
  const [roomId, setRoomId] = useState(rest.roomId);
  const room = home.rooms.find((one) => one.id === roomId);
  return (
    <ChangeDialog
      title={t('New device', 'Neues Gerät')}
      submit={t('Create', 'Anlegen')}
      request={() => issueDevice(home.location.id, { id, name: name.trim(), room })}
      onDone={onDone}
      onClose={onClose}
    >
      <NameField value={name} onInput={setName} />
      <RoomField home={home} rooms={rights.targetRooms()} value={roomId} onChange={setRoomId} />
    </ChangeDialog>
  );
}
