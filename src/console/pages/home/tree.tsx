import type { Device } from '../../api.js';
import { useWords } from '../../console-parts.js';
import { hrefTo } from '../../routing.js';
import { ActionMenu } from './action-menu.js';
import { type Dragged, dragSource, useDropTarget } from './drag.js';
import type { HomeAction } from './home-action.js';
import type { HomeRights } from './home-rights.js';
import type { GroupNode, HomeTree, RoomNode } from './home-tree.js';
import { HOME_WORDS } from './home-words.js';
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
  const words = useWords(HOME_WORDS);
  const groupId = group?.id ?? null;
  const mayManage = rights.mayManageGroup(groupId);
  const name = group?.name ?? words.noGroup;
  const drop = useDropTarget('room', mayManage, (id) => onDrop({ kind: 'room', id }, groupId));
  const items =
    group === undefined || !mayManage
      ? []
      : [
          { text: words.newRoom, choose: () => onAction({ type: 'create-room', groupId }) },
          ...namedItems({ kind: 'group', ...group }, words, onAction),
        ];
  return (
    <section
      class={drop.isOver ? 'home-group home-drop' : 'home-group'}
      aria-label={name}
      {...drop.target}
    >
      <div class="home-head">
        <h2>{name}</h2>
        <ActionMenu label={words.actions(name)} items={items} />
      </div>
      {rooms.length === 0 && <p class="hint">{words.emptyGroup}</p>}
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
  const words = useWords(HOME_WORDS);
  const mayManage = rights.mayManageRoom(room);
  const drop = useDropTarget('device', mayManage, (id) => onDrop({ kind: 'device', id }, room.id));
  const newDevice = {
    text: words.newDevice,
    choose: () => onAction({ type: 'create-device', roomId: room.id }),
  };
  const items = !mayManage
    ? []
    : [
        ...(rights.mayManageHome ? [newDevice] : []),
        { text: words.move, choose: () => onAction({ type: 'move-room', room }) },
        ...namedItems({ kind: 'room', ...room }, words, onAction),
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
        <ActionMenu label={words.actions(room.name)} items={items} />
      </div>
      {devices.length === 0 && <p class="hint">{words.emptyRoom}</p>}
      <DeviceList devices={devices} {...props} />
    </section>
  );
}

function LooseDevices({ devices, ...props }: TreeProps & { readonly devices: readonly Device[] }) {
  const words = useWords(HOME_WORDS);
  const { rights, onDrop } = props;
  const mayManage = rights.mayManageHome;
  const drop = useDropTarget('device', mayManage, (id) => onDrop({ kind: 'device', id }, null));
  return (
    <section
      class={drop.isOver ? 'home-group home-drop' : 'home-group'}
      aria-label={words.noRoom}
      {...drop.target}
    >
      <div class="home-head">
        <h2>{words.noRoom}</h2>
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
  const words = useWords(HOME_WORDS);
  const mayManage = rights.mayManageDevice(device);
  const items = mayManage
    ? [
        { text: words.move, choose: () => onAction({ type: 'move-device', device }) },
        ...namedItems({ kind: 'device', ...device }, words, onAction),
      ]
    : [];
  return (
    <li class="home-device" {...dragSource({ kind: 'device', id: device.id }, mayManage)}>
      <a href={hrefTo(`/home/${device.locationId}/devices/${device.id}`)} draggable={false}>
        {device.name}
      </a>
      <OnlineState device={device} presence={presence} />
      <ActionMenu label={words.actions(device.name)} items={items} />
    </li>
  );
}

function namedItems(
  named: Extract<HomeAction, { type: 'rename' }>['named'],
  words: { readonly rename: string; readonly remove: string },
  onAction: TreeProps['onAction'],
) {
  return [
    { text: words.rename, choose: () => onAction({ type: 'rename', named }) },
    { text: words.remove, isDangerous: true, choose: () => onAction({ type: 'remove', named }) },
  ];
}
