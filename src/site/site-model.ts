import { secretMatches } from '../domain/credentials.js';
import { type DeviceContext, deviceContext } from '../domain/messages.js';
import type {
  AccessToken,
  Device,
  Group,
  Location,
  RecordChange,
  RecordKind,
  RecordOfKind,
  Room,
  SiteRecords,
} from '../domain/site.js';
import { GatewayError } from '../errors.js';

/** The site as stored, as far as it is readable. */
export interface SiteState {
  readonly records: SiteRecords;
  /** The records that lack what their kind must hold: `location:<id>`, of devices and tokens the `principalKey`. */
  readonly unreadable: ReadonlySet<string>;
  /** How many changes the site has had, by any gateway. */
  readonly revision: number;
}

/** A device, and the location to look for it in. */
export interface DeviceKey {
  readonly locationId: string;
  readonly deviceId: string;
}

/** A room, and the location to look for it in. */
export interface RoomKey {
  readonly locationId: string;
  readonly roomId: string;
}

/** A group, and the location to look for it in. */
export interface GroupKey {
  readonly locationId: string;
  readonly groupId: string;
}

type RecordsById = { readonly [K in RecordKind]: Map<string, RecordOfKind[K]> };

/**
 * The whole site in memory, every kind of record in the order of creation.
 *
 * It serves to enrich messages and decide permissions, without a round trip to the store. The store is the
 * authority: a change is made here once it is stored there (SiteChanges).
 */
export class SiteModel {
  #records = recordsById({ location: [], group: [], room: [], device: [], 'access-token': [] });
  #contexts = new Map<string, DeviceContext>();
  #unreadable: ReadonlySet<string> = new Set();
  #lastOrder = 0;

  /** Replaces everything with the stored site. */
  load({ records, unreadable }: SiteState): void {
    this.#unreadable = unreadable;
    this.#records = recordsById(records);
    this.#contexts.clear();
    for (const { order } of Object.values(records).flat()) {
      this.#lastOrder = Math.max(this.#lastOrder, order);
    }
  }

  /** Makes changes that are already stored. */
  apply(changes: readonly RecordChange[]): void {
    for (const change of changes) this.#apply(change);
  }

  /** The next number in the order of creation. */
  nextOrder(): number {
    this.#lastOrder += 1;
    return this.#lastOrder;
  }

  /** How many records of each kind there are. */
  recordCounts(): Record<RecordKind, number> {
    const { location, group, room, device, 'access-token': accessToken } = this.#records;
    return {
      location: location.size,
      group: group.size,
      room: room.size,
      device: device.size,
      'access-token': accessToken.size,
    };
  }

  locations(): Location[] {
    return [...this.#records.location.values()];
  }

  location(id: string): Location | undefined {
    return this.#records.location.get(id);
  }

  /** @throws GatewayError `location-not-found` */
  requireLocation(id: string): Location {
    return found('location', this.location(id));
  }

  groupsOf(locationId: string): Group[] {
    return allWithin(locationId, this.#records.group.values());
  }

  group(id: string): Group | undefined {
    return this.#records.group.get(id);
  }

  /** @throws GatewayError `location-not-found`, `group-not-found` when it is not in this location */
  requireGroup({ locationId, groupId }: GroupKey): Group {
    this.requireLocation(locationId);
    return found('group', within(locationId, this.group(groupId)));
  }

  roomsOf(locationId: string): Room[] {
    return allWithin(locationId, this.#records.room.values());
  }

  room(id: string): Room | undefined {
    return this.#records.room.get(id);
  }

  /** The room if it is in this location. */
  roomIn({ locationId, roomId }: RoomKey): Room | undefined {
    return within(locationId, this.room(roomId));
  }

  /** @throws GatewayError `location-not-found`, `room-not-found` when it is not in this location */
  requireRoom(key: RoomKey): Room {
    this.requireLocation(key.locationId);
    return found('room', this.roomIn(key));
  }

  /** @throws GatewayError `location-not-found`, `group-not-found`, `room-not-found` when it is not in this group */
  requireRoomOfGroup(key: GroupKey & RoomKey): Room {
    this.requireGroup(key);
    const room = this.roomIn(key);
    return found('room', room?.groupId === key.groupId ? room : undefined, 'group');
  }

  /** The ids of the devices in each occupied room of the location, in order of creation. */
  deviceIdsByRoom(locationId: string): ReadonlyMap<string, readonly string[]> {
    return idsBy(this.devicesOf(locationId), ({ roomId }) => roomId);
  }

  /** The ids of the rooms in each group of the location that has rooms, in order of creation. */
  roomIdsByGroup(locationId: string): ReadonlyMap<string, readonly string[]> {
    return idsBy(this.roomsOf(locationId), ({ groupId }) => groupId);
  }

  devices(): Device[] {
    return [...this.#records.device.values()];
  }

  devicesOf(locationId: string): Device[] {
    return allWithin(locationId, this.#records.device.values());
  }

  device(id: string): Device | undefined {
    return this.#records.device.get(id);
  }

  /** The device if it is in this location. */
  deviceIn({ locationId, deviceId }: DeviceKey): Device | undefined {
    return within(locationId, this.device(deviceId));
  }

  /** The device with this id and secret; undefined when there is none. */
  authenticated(id: string, secret: Uint8Array): Device | undefined {
    const device = this.device(id);
    return device && secretMatches(secret, device.secretHash) ? device : undefined;
  }

  /** @throws GatewayError `location-not-found`, `device-not-found` when it is not in this location */
  requireDevice(key: DeviceKey): Device {
    this.requireLocation(key.locationId);
    return found('device', this.deviceIn(key));
  }

  accessTokens(): AccessToken[] {
    return [...this.#records['access-token'].values()];
  }

  accessToken(id: string): AccessToken | undefined {
    return this.#records['access-token'].get(id);
  }

  /** The device with its present place; undefined when there is no such device. */
  context(deviceId: string): DeviceContext | undefined {
    const known = this.#contexts.get(deviceId);
    if (known !== undefined) return known;
    const device = this.device(deviceId);
    const context = device && this.contextOf(device);
    if (context !== undefined) this.#contexts.set(deviceId, context);
    return context;
  }

  /**
   * The context of a device as given, current or former.
   *
   * If the record of its location cannot be read, its alarms must go through none the less: topics and grants know only
   * the id.
   */
  contextOf(device: Device): DeviceContext {
    const { locationId: id } = device;
    const location = this.location(id) ?? { id, name: id, order: 0 };
    const room = this.#roomOf(device);
    const group = this.group(room?.groupId ?? '');
    return deviceContext(device, location, room ?? null, group ?? null);
  }

  /**
   * Whether this holder's record was unreadable when the site was loaded.
   *
   * Nobody can authenticate as such a device or token, but its sessions must be kept.
   *
   * @param holder a `principalKey`, or `location:<id>`
   */
  isUnreadable(holder: string): boolean {
    return this.#unreadable.has(holder);
  }

  #apply<K extends RecordKind>({ kind, before, after }: RecordChange<K>): void {
    if (after !== undefined) this.#records[kind].set(after.id, after);
    else if (before !== undefined) this.#records[kind].delete(before.id);
    // A device's context holds the names of its place.
    if (kind === 'device') this.#contexts.delete((after ?? before)?.id ?? '');
    else if (kind !== 'access-token') this.#contexts.clear();
  }

  #roomOf({ roomId }: Device): Room | undefined {
    return roomId === null ? undefined : this.room(roomId);
  }
}

function recordsById(records: SiteRecords): RecordsById {
  return {
    location: byId(records.location),
    group: byId(records.group),
    room: byId(records.room),
    device: byId(records.device),
    'access-token': byId(records['access-token']),
  };
}

/** The records by id. The map keeps them in the order of creation: later records go to the end. */
function byId<T extends { readonly id: string; readonly order: number }>(
  records: readonly T[],
): Map<string, T> {
  const inOrder = records.toSorted((one, other) => one.order - other.order);
  return new Map(inOrder.map((record) => [record.id, record]));
}

function allWithin<T extends { readonly locationId: string }>(
  locationId: string,
  records: Iterable<T>,
): T[] {
  const found: T[] = [];
  for (const record of records) if (record.locationId === locationId) found.push(record);
  return found;
}

function within<T extends { readonly locationId: string }>(
  locationId: string,
  record: T | undefined,
): T | undefined {
  return record?.locationId === locationId ? record : undefined;
}

function found<T>(
  kind: 'location' | 'group' | 'room' | 'device',
  record: T | undefined,
  within: 'location' | 'group' = 'location',
): T {
  if (record !== undefined) return record;
  const where = kind === 'location' ? '' : ` in this ${within}`;
  throw new GatewayError(`${kind}-not-found`, `There is no such ${kind}${where}.`);
}

function idsBy<T extends { readonly id: string }>(
  records: readonly T[],
  keyOf: (record: T) => string | null,
): Map<string, string[]> {
  const idsByKey = new Map<string, string[]>();
  for (const record of records) {
    const key = keyOf(record);
    if (key === null) continue;
    const ids = idsByKey.get(key);
    if (ids === undefined) idsByKey.set(key, [record.id]);
    else ids.push(record.id);
  }
  return idsByKey;
}
