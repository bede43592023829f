import type { Device, Group, Room } from '../../api.js';
import type { Home } from './home-data.js';

export interface RoomNode {
  readonly room: Room;
  readonly devices: readonly Device[];
}

/** A group with its rooms; if the group is undefined, the rooms without one. */
export interface GroupNode {
  readonly group: Group | undefined;
  readonly rooms: readonly RoomNode[];
}

export interface HomeTree {
  readonly groups: readonly GroupNode[];
  /** Devices without a room. */
  readonly loose: readonly Device[];
  /** How many matching devices are missing from the tree because it would be too long. */
  readonly left: number;
}

interface TreeFilter {
  readonly search: string;
  /** Omits other devices, and with them the rooms and groups that have none. */
  readonly shows: ((device: Device) => boolean) | undefined;
  readonly maxDevices: number;
}

/**
 * What to show of a home: all of it, or what matches the search.
 *
 * A group or room that matches shows everything in it. What is in a room or group that is missing has none.
 */
export function homeTree(home: Home, filter: TreeFilter): HomeTree {
  const { shows } = filter;
  const wanted = folded(filter.search);
  const matches = (...texts: readonly string[]) =>
    wanted === '' || texts.some((text) => folded(text).includes(wanted));
  const isFiltered = wanted !== '' || shows !== undefined;
  const byRoom = devicesByRoom(home);
  const groupIds = new Set<string | null>(home.groups.map(({ id }) => id));
  const counter = new Counter(filter.maxDevices);

  const roomNode = (room: Room, isGroupWanted: boolean): RoomNode | undefined => {
    const isWanted = isGroupWanted || matches(room.name);
    const devices = (byRoom.get(room.id) ?? []).filter(
      (device) => (isWanted || matches(device.name, device.id)) && (shows?.(device) ?? true),
    );
    const isShown = devices.length > 0 || (isWanted && shows === undefined);
    return isShown ? { room, devices: counter.take(devices) } : undefined;
  };
  const groupNode = (group: Group | undefined): GroupNode | undefined => {
    const isWanted = group !== undefined && matches(group.name) && wanted !== '';
    const rooms = sorted(home.rooms)
      .filter(({ groupId }) => (group ? groupId === group.id : !groupIds.has(groupId)))
      .flatMap((room) => roomNode(room, isWanted) ?? []);
    const isShown = rooms.length > 0 || (group !== undefined && (!isFiltered || isWanted));
    return isShown ? { group, rooms } : undefined;
  };

  const groups = [...sorted(home.groups), undefined].flatMap((group) => groupNode(group) ?? []);
  const loose = (byRoom.get(null) ?? []).filter(
    (device) => matches(device.name, device.id) && (shows?.(device) ?? true),
  );
  return { groups, loose: counter.take(loose), left: counter.left };
}

function devicesByRoom({ devices, rooms }: Home): ReadonlyMap<string | null, readonly Device[]> {
  const roomIds = new Set<string | null>(rooms.map(({ id }) => id));
  const byRoom = new Map<string | null, Device[]>();
  for (const device of sorted(devices)) {
    const roomId = roomIds.has(device.roomId) ? device.roomId : null;
    const others = byRoom.get(roomId);
    if (others === undefined) byRoom.set(roomId, [device]);
    else others.push(device);
  }
  return byRoom;
}

/** Lets a limited number of devices through and counts the rest. */
class Counter {
  #room: number;
  left = 0;

  constructor(room: number) {
    this.#room = room;
  }

  take(devices: readonly Device[]): readonly Device[] {
    const taken = devices.slice(0, this.#room);
    this.#room -= taken.length;
    this.left += devices.length - taken.length;
    return taken;
  }
}

const collator = new Intl.Collator(undefined, { numeric: true });

/** By name, as people count: room 9 before room 10. */
export function sorted<Named extends { readonly name: string }>(
  all: readonly Named[],
): readonly Named[] {
  return all.toSorted((one, other) => collator.compare(one.name, other.name));
}

function folded(text: string): string {
  return text.normalize('NFKC').toLowerCase().trim();
}
