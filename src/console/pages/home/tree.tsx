import type { Device } from '../../api.js';
import { t } from '../../language.js';
import { hrefTo } from '../../place.js';
import { ActionMenu, actionsFor } from './action-menu.js';
import { type Dragged, dragSource, useDropTarget } from './drag.js';
import type { HomeAction } from './home-action.js';
import type { HomeRights } from './home-rights.js';
import type { GroupNode, HomeTree, RoomNode } from './home-tree.js';
import { OnlineState } from './online-state.js';
import type { Presence } from './presence.js';

export interface TreeProps {
  readonly rights: HomeRights;
  readonly presence: Presence;
  readonly onAction: (action: HomeAction) => void;
  /** Called when something is dropped on a room or group; null: outside all of them. */
  readonly onDrop: (dragged: Dragged, targetId: string | null) => void;
}

/** Groups, rooms and devices of a home. */
export function Tree({ tree, ...props }: TreeProps & { readonly tree: HomeTree }) {
  return (
    <div class="home-tree">
      {tree.groups.map((node) => (
        <GroupSection key={node.group?.id ?? ''} node={node} {...props} />
      ))}
      {tree.loose.length > 0 && <LooseDevices devices={tree.loose} {...props} />}
    </div>
  );
}

function GroupSection({ node, ...props }: TreeProps & { readonly node: GroupNode }) {
  const { rights, onAction, onDrop } = props;
  const { group, rooms } = node;
  const groupId = group?.id ?? null;
  const mayManage = rights.mayManageGroup(groupId);
  const name = group?.name ?? t('Without a group', 'Ohne Gruppe');
  const drop = useDropTarget('room', mayManage, (id) => onDrop({ kind: 'room', id }, groupId));
  const items =
    group === undefined || !mayManage
      ? []
      : [
          {
            text: t('New room', 'Neues Zimmer'),
            choose: () => onAction({ type: 'create-room', groupId }),
          },
          ...namedItems({ kind: 'group', ...group }, onAction),
        ];
  return (
    <section
      class={drop.isOver ? 'home-group home-drop' : 'home-group'}
      aria-label={name}
      {...drop.target}
    >
      <div class="home-head">
        <h2>{name}</h2>
        <ActionMenu label={actionsFor(name)} items={items} />
      </div>
      {rooms.length === 0 && <p class="hint">{t('No rooms', 'Keine Zimmer')}</p>}
      <div class="home-rooms">
        {rooms.map((room) => (
          <RoomSection key={room.room.id} node={room} {...props} />
        ))}
      </div>
    </section>
  );
}

function RoomSection({ node, ...props }: TreeProps & { readonly node: RoomNode }) {
  const { rights, onAction, onDrop } = props;
  const { room, devices } = node;
  const mayManage = rights.mayManageRoom(room);
  const drop = useDropTarget('device', mayManage, (id) => onDrop({ kind: 'device', id }, room.id));
  const newDevice = {
    text: t('New device', 'Neues Gerät'),
    choose: () => onAction({ type: 'create-device', roomId: room.id }),
  };
  const items = !mayManage
    ? []
    : [
        ...(rights.mayManageHome ? [newDevice] : []),
        { text: t('Move', 'Verschieben'), choose: () => onAction({ type: 'move-room', room }) },
        ...namedItems({ kind: 'room', ...room }, onAction),
      ];
  return (
    <section
      class={drop.isOver ? 'home-room home-drop' : 'home-room'}
      aria-label={room.name}
      {...drop.target}
      {...dragSource({ kind: 'room', id: room.id }, mayManage)}
    >
      <div class="home-head">
        <h3>{room.name}</h3>
        <ActionMenu label={actionsFor(room.name)} items={items} />
      </div>
      {devices.length === 0 && <p class="hint">{t('No devices', 'Keine Geräte')}</p>}
      <DeviceList devices={devices} {...props} />
    </section>
  );
}

function LooseDevices({ devices, ...props }: TreeProps & { readonly devices: readonly Device[] }) {
  const { rights, onDrop } = props;
  const mayManage = rights.mayManageHome;
  const drop = useDropTarget('device', mayManage, (id) => onDrop({ kind: 'device', id }, null));
  return (
    <section
      class={drop.isOver ? 'home-group home-drop' : 'home-group'}
      aria-label={t('Devices without a room', 'Geräte ohne Zimmer')}
      {...drop.target}
    >
      <div class="home-head">
        <h2>{t('Devices without a room', 'Geräte ohne Zimmer')}</h2>
      </div>
      <div class="home-loose">
        <DeviceList devices={devices} {...props} />
      </div>
    </section>
  );
}

function DeviceList({ devices, ...props }: TreeProps & { readonly devices: readonly Device[] }) {
  if (devices.length === 0) return null;
  return (
    <ul class="home-devices">
      {devices.map((device) => (
        <DeviceRow key={device.id} device={device} {...props} />
      ))}
    </ul>
  );
}

function DeviceRow({ device, ...props }: TreeProps & { readonly device: Device }) {
  const { rights, presence, onAction } = props;
  const mayManage = rights.mayManageDevice(device);
  const items = mayManage
    ? [
        { text: t('Move', 'Verschieben'), choose: () => onAction({ type: 'move-device', device }) },
        ...namedItems({ kind: 'device', ...device }, onAction),
      ]
    : [];
  return (
    <li class="home-device" {...dragSource({ kind: 'device', id: device.id }, mayManage)}>
      <a href={hrefTo(`/home/${device.locationId}/devices/${device.id}`)} draggable={false}>
        {device.name}
      </a>
      <OnlineState device={device} presence={presence} />
      <ActionMenu label={actionsFor(device.name)} items={items} />
    </li>
  );
}

function namedItems(
  named: Extract<HomeAction, { type: 'rename' }>['named'],
  onAction: TreeProps['onAction'],
) {
  return [
    { text: t('Rename', 'Umbenennen'), choose: () => onAction({ type: 'rename', named }) },
    {
      text: t('Delete', 'Löschen'),
      isDangerous: true,
      choose: () => onAction({ type: 'remove', named }),
    },
  ];
}
