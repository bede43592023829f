/**
 * One home: what is read of it, which of its devices are online, what the token may change in it, and the tree that is
 * shown of it.
 *
 * The list of devices tells the presence at the time of reading; statuses from the stream are newer.
 */

import { type ReadonlySignal, signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import {
  type Device,
  type Group,
  getLocation,
  type Location,
  listDevices,
  listGroups,
  listRooms,
  listSilentDevices,
  type Named,
  type Room,
} from '../api.js';
import { type LiveMessage, live } from '../live.js';
import { recordOf } from '../request.js';
import { session } from '../session.js';
import { type Loaded, useLoaded } from '../ui/load.js';

/** Everything in one home that the token may see. */
export interface Home {
  readonly location: Location;
  readonly groups: readonly Group[];
  readonly rooms: readonly Room[];
  readonly devices: readonly Device[];
}

export async function readHome(locationId: string): Promise<Home> {
  const [location, groups, rooms, devices] = await Promise.all([
    getLocation({ locationId }),
    listGroups({ locationId }),
    listRooms({ locationId }),
    listDevices({ locationId }),
  ]);
  return { location, groups, rooms, devices };
}

/** Reads a home, and reads it again whenever someone returns to the page: others may have changed it. */
export function useHome(locationId: string): Loaded<Home> {
  const home = useLoaded(() => readHome(locationId), [locationId], { onReturn: true });
  useEffect(() => live.listen({ message: () => undefined, missed: home.again }), [home.again]);
  return home;
}

/** The ids of the devices of a home from which nothing has come for too long. */
export function useSilent(locationId: string): Loaded<ReadonlySet<string>> {
  return useLoaded<ReadonlySet<string>>(
    async () => new Set((await listSilentDevices({ locationId })).map(({ device }) => device.id)),
    [locationId],
    { onTopic: topicPattern(locationId, '[^/]+', 'supervision$'), atMostEveryMs: 1_000 },
  );
}

/** Matches the topics of the home's devices. */
export function topicPattern(locationId: string, devices: string, rest: string): RegExp {
  // Whatever stands in the address.
  const id = locationId.replaceAll(/[^\w-]/g, '.');
  return new RegExp(`^care-homes/${id}/devices/${devices}/${rest}`);
}

// Presence

/** Whether a device is online and since when, from its newest `status` message. */
interface Status {
  readonly online: boolean;
  readonly since: string;
  /** The hub through which it was last heard. */
  readonly via: Named | undefined;
}

const newest = signal<ReadonlyMap<string, Status>>(new Map());
/** The statuses that have come, by device. */
export const statuses: ReadonlySignal<ReadonlyMap<string, Status>> = newest;

/** Takes the status of a device from a message that tells one. */
export function statusReceived({ topic, payload }: LiveMessage): void {
  const [root, , devices, deviceId = '', level, ...more] = topic.split('/');
  const isStatus = root === 'care-homes' && devices === 'devices' && level === 'status';
  if (!isStatus || more.length > 0) return;
  const { online, since, via } = payload;
  if (typeof online !== 'boolean' || typeof since !== 'string') return;
  const { id, name } = recordOf(via);
  const isHub = typeof id === 'string' && typeof name === 'string';
  const status = { online, since, via: isHub ? { id, name } : undefined };
  newest.value = new Map(newest.peek()).set(deviceId, status);
}

live.listen({
  message: statusReceived,
  // What is true now is retained, and follows.
  missed: () => {
    newest.value = new Map();
  },
});

/** What is known of a device's connection. */
interface Presence {
  readonly state: 'online' | 'offline' | 'never';
  /** The hub through which it was last heard. */
  readonly via: Named | undefined;
  /** When it went online or offline; undefined while no status has come, or if it was heard after it went offline. */
  readonly since: string | undefined;
  readonly lastHeardAt: string | undefined;
}

export function presenceOf(device: Device, status: Status | undefined): Presence {
  const isOnline = status?.online ?? device.online;
  const lastHeardAt = device.lastSeenAt ?? undefined;
  const wasHeard = lastHeardAt !== undefined || status !== undefined;
  // One that connects itself has none; what was heard of a hub that is gone is in the list alone.
  const via = status?.online === true ? status.via : (status?.via ?? device.via);
  const heardMs = Date.parse(lastHeardAt ?? '');
  const isHeardSince = !isOnline && heardMs > Date.parse(status?.since ?? '');
  return {
    state: isOnline ? 'online' : wasHeard ? 'offline' : 'never',
    via,
    since: isHeardSince ? undefined : status?.since,
    lastHeardAt,
  };
}

export function presenceNow(device: Device): Presence {
  return presenceOf(device, statuses.value.get(device.id));
}

/** What can be shown alone. */
export const DEVICE_FILTERS = ['all', 'offline', 'silent', 'hub', 'never'] as const;
export type DeviceFilter = (typeof DEVICE_FILTERS)[number];

export function isShown(device: Device, filter: DeviceFilter, silent: ReadonlySet<string>) {
  if (filter === 'all') return true;
  if (filter === 'silent') return silent.has(device.id);
  const { state, via } = presenceNow(device);
  return filter === 'hub' ? via !== undefined : state === filter;
}

// Rights

/** What the token may change in one home; the gateway decides again. */
export class HomeRights {
  readonly #home: Home;
  readonly #groupByRoom: ReadonlyMap<string, string | null>;

  constructor(home: Home) {
    this.#home = home;
    this.#groupByRoom = new Map(home.rooms.map(({ id, groupId }) => [id, groupId]));
  }

  /** Whether it may rename the home and create groups and devices. */
  get mayManageHome(): boolean {
    return this.mayManageGroup(null);
  }

  get mayMakeRooms(): boolean {
    return this.mayManageHome || this.targetGroups().length > 0;
  }

  /** Whether it may manage the group and what is in it; with null, what is in no group. */
  mayManageGroup(groupId: string | null): boolean {
    return session.may('manager', this.#home.location.id, groupId);
  }

  mayManageDevice({ roomId }: Device): boolean {
    return this.mayManageGroup(roomId === null ? null : (this.#groupByRoom.get(roomId) ?? null));
  }

  /** The groups in which rooms may be created, or to which they may be moved. */
  targetGroups(): readonly Group[] {
    return sorted(this.#home.groups.filter(({ id }) => this.mayManageGroup(id)));
  }

  /** The rooms to which devices may be moved. */
  targetRooms(): readonly Room[] {
    return sorted(this.#home.rooms.filter(({ groupId }) => this.mayManageGroup(groupId)));
  }
}

// The tree

interface RoomNode {
  readonly room: Room;
  readonly devices: readonly Device[];
}

/** A group with its rooms; if the group is undefined, the rooms without one. */
interface GroupNode {
  readonly group: Group | undefined;
  readonly rooms: readonly RoomNode[];
}

interface HomeTree {
  readonly groups: readonly GroupNode[];
  /** Devices without a room. */
  readonly loose: readonly Device[];
  /** How many matching devices are missing from the tree because it would be too long. */
  readonly left: number;
}

interface TreeFilter {
  readonly search: string;
  /** Leaves out other devices, and with them the rooms and groups that have none. */
  readonly shows: ((device: Device) => boolean) | undefined;
  readonly maxDevices: number;
}

/**
 * What to show of a home: all of it, or what matches the search.
 *
 * A group or room that matches shows everything in it. What is in a room or group that is missing has none.
 */
export function homeTree(home: Home, { search, shows, maxDevices }: TreeFilter): HomeTree {
  const wanted = folded(search);
  const matches = (...texts: readonly string[]) =>
    wanted === '' || texts.some((text) => folded(text).includes(wanted));
  const isFiltered = wanted !== '' || shows !== undefined;
  const byRoom = devicesByRoom(home);
  const groupIds = new Set<string | null>(home.groups.map(({ id }) => id));
  let space = maxDevices;
  let left = 0;
  const devicesIn = (roomId: string | null, isWanted: boolean) =>
    (byRoom.get(roomId) ?? []).filter(
      (device) => (isWanted || matches(device.name, device.id)) && (shows?.(device) ?? true),
    );
  const fitting = (devices: readonly Device[]) => {
    const fit = devices.slice(0, space);
    space -= fit.length;
    left += devices.length - fit.length;
    return fit;
  };
  const roomNode = (room: Room, isGroupWanted: boolean): RoomNode | undefined => {
    const isWanted = isGroupWanted || matches(room.name);
    const devices = devicesIn(room.id, isWanted);
    const isDrawn = devices.length > 0 || (isWanted && shows === undefined);
    return isDrawn ? { room, devices: fitting(devices) } : undefined;
  };
  const groupNode = (group: Group | undefined): GroupNode | undefined => {
    const isWanted = group !== undefined && matches(group.name) && wanted !== '';
    const rooms = sorted(home.rooms)
      .filter(({ groupId }) => (group ? groupId === group.id : !groupIds.has(groupId)))
      .flatMap((room) => roomNode(room, isWanted) ?? []);
    const isDrawn = rooms.length > 0 || (group !== undefined && (!isFiltered || isWanted));
    return isDrawn ? { group, rooms } : undefined;
  };
  const groups = [...sorted(home.groups), undefined].flatMap((group) => groupNode(group) ?? []);
  const loose = fitting(devicesIn(null, false));
  return { groups, loose, left };
}

function devicesByRoom({ devices, rooms }: Home): ReadonlyMap<string | null, readonly Device[]> {
  const byRoom = new Map<string | null, Device[]>(rooms.map(({ id }) => [id, []]));
  const loose: Device[] = [];
  for (const device of sorted(devices)) (byRoom.get(device.roomId) ?? loose).push(device);
  return byRoom.set(null, loose);
}

const collator = new Intl.Collator(undefined, { numeric: true });

/** By name, as people count: room 9 before room 10. */
export function sorted<Row extends { readonly name: string }>(all: readonly Row[]): readonly Row[] {
  return all.toSorted((one, other) => collator.compare(one.name, other.name));
}

function folded(text: string): string {
  return text.normalize('NFKC').toLowerCase().trim();
}
