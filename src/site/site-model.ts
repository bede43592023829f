import { type DeviceContext, deviceContext } from '../domain/messages.js';
import type { AccessToken, Device, Group, Location, Room } from '../domain/site.js';
import { type SiteState, unreadablePrincipals } from './site-findings.js';
import type { DeviceKey, GroupKey, RoomKey } from './site-store.js';

/**
 * The whole site in memory.
 *
 * Messages are enriched and permissions decided from it, without a round trip to the store. The store is
 * the authority: a change is made here once it is stored there.
 */
export class SiteModel {
  #locations = new Map<string, Location>();
  #groups = new Map<string, Group>();
  #rooms = new Map<string, Room>();
  #devices = new Map<string, Device>();
  #accessTokens = new Map<string, AccessToken>();
  #contexts = new Map<string, DeviceContext>();
  #unreadablePrincipals: ReadonlySet<string> = new Set();
  #lastOrder = 0;

  /** Replaces everything by the stored site. */
  load({ records, findings }: SiteState): void {
    this.#unreadablePrincipals = unreadablePrincipals(findings);
    this.#locations = byId(records.locations);
    this.#groups = byId(records.groups);
    this.#rooms = byId(records.rooms);
    this.#devices = byId(records.devices);
    this.#accessTokens = byId(records.accessTokens);
    this.#contexts.clear();
    for (const group of Object.values(records)) {
      for (const { order } of group) this.#lastOrder = Math.max(this.#lastOrder, order);
    }
  }

  /** The next number in the order of creation. */
  nextOrder(): number {
    this.#lastOrder += 1;
    return this.#lastOrder;
  }

  locations(): Location[] {
    return inOrder(this.#locations.values());
  }

  location(id: string): Location | undefined {
    return this.#locations.get(id);
  }

  groupsOf(locationId: string): Group[] {
    return inOrder(this.#groups.values()).filter((group) => group.locationId === locationId);
  }

  group(id: string): Group | undefined {
    return this.#groups.get(id);
  }

  /** The group if it is in this location. */
  groupIn({ locationId, groupId }: GroupKey): Group | undefined {
    return within(locationId, this.#groups.get(groupId));
  }

  roomsOf(locationId: string): Room[] {
    return inOrder(this.#rooms.values()).filter((room) => room.locationId === locationId);
  }

  room(id: string): Room | undefined {
    return this.#rooms.get(id);
  }

  /** The room if it is in this location. */
  roomIn({ locationId, roomId }: RoomKey): Room | undefined {
    return within(locationId, this.#rooms.get(roomId));
  }

  /** The ids of the devices in each occupied room of the location, in order of creation. */
  deviceIdsByRoom(locationId: string): ReadonlyMap<string, readonly string[]> {
    return idsBy(this.devicesOf(locationId), ({ roomId }) => roomId);
  }

  /** The ids of the rooms in each group of the location with rooms, in order of creation. */
  roomIdsByGroup(locationId: string): ReadonlyMap<string, readonly string[]> {
    return idsBy(this.roomsOf(locationId), ({ groupId }) => groupId);
  }

  devices(): Device[] {
    return inOrder(this.#devices.values());
  }

  devicesOf(locationId: string): Device[] {
    return this.devices().filter((device) => device.locationId === locationId);
  }

  /** The ids of the devices in these rooms of the location, or anywhere in the location. */
  deviceIdsIn(locationId: string, roomIds?: ReadonlySet<string | null>): string[] {
    const ids: string[] = [];
    for (const device of this.#devices.values()) {
      if (device.locationId !== locationId) continue;
      if (roomIds === undefined || roomIds.has(device.roomId)) ids.push(device.id);
    }
    return ids;
  }

  device(id: string): Device | undefined {
    return this.#devices.get(id);
  }

  /** The device if it is in this location. */
  deviceIn({ locationId, deviceId }: DeviceKey): Device | undefined {
    return within(locationId, this.#devices.get(deviceId));
  }

  accessTokens(): AccessToken[] {
    return inOrder(this.#accessTokens.values());
  }

  accessToken(id: string): AccessToken | undefined {
    return this.#accessTokens.get(id);
  }

  /** The device with its place as of now; undefined when there is no such device. */
  context(deviceId: string): DeviceContext | undefined {
    const known = this.#contexts.get(deviceId);
    if (known !== undefined) return known;
    const device = this.#devices.get(deviceId);
    const context = device && this.contextOf(device);
    if (context !== undefined) this.#contexts.set(deviceId, context);
    return context;
  }

  /** The context of a device as given, current or former; undefined without its location. */
  contextOf(device: Device): DeviceContext | undefined {
    const location = this.#locations.get(device.locationId);
    if (location === undefined) return undefined;
    const room = device.roomId === null ? undefined : this.#rooms.get(device.roomId);
    const groupId = room?.groupId ?? null;
    const group = groupId === null ? undefined : this.#groups.get(groupId);
    return deviceContext(device, location, room ?? null, group ?? null);
  }

  /** The group that the device is in now, by its room. */
  groupIdOf(deviceId: string): string | null {
    return this.context(deviceId)?.group?.id ?? null;
  }

  /**
   * Whether this principal's record was lost or unreadable when the site was loaded.
   *
   * Nobody can authenticate as that device or token, but its sessions must be kept.
   *
   * @param principal a `principalKey`
   */
  isUnreadable(principal: string): boolean {
    return this.#unreadablePrincipals.has(principal);
  }

  putLocation(location: Location): void {
    this.#locations.set(location.id, location);
    this.#contexts.clear();
  }

  /** Removes the location with its rooms and groups. */
  removeLocation(id: string): void {
    for (const room of this.roomsOf(id)) this.#rooms.delete(room.id);
    for (const group of this.groupsOf(id)) this.#groups.delete(group.id);
    this.#locations.delete(id);
  }

  putGroup(group: Group): void {
    this.#groups.set(group.id, group);
    this.#contexts.clear();
  }

  removeGroup(id: string): void {
    this.#groups.delete(id);
    this.#contexts.clear();
  }

  putRoom(room: Room): void {
    this.#rooms.set(room.id, room);
    this.#contexts.clear();
  }

  removeRoom(id: string): void {
    this.#rooms.delete(id);
    this.#contexts.clear();
  }

  putDevice(device: Device): void {
    this.#devices.set(device.id, device);
    this.#contexts.delete(device.id);
  }

  removeDevice(id: string): void {
    this.#devices.delete(id);
    this.#contexts.delete(id);
  }

  putAccessToken(token: AccessToken): void {
    this.#accessTokens.set(token.id, token);
  }

  removeAccessToken(id: string): void {
    this.#accessTokens.delete(id);
  }
}

function byId<T extends { readonly id: string }>(records: readonly T[]): Map<string, T> {
  return new Map(records.map((record) => [record.id, record]));
}

function within<T extends { readonly locationId: string }>(
  locationId: string,
  record: T | undefined,
): T | undefined {
  return record?.locationId === locationId ? record : undefined;
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

function inOrder<T extends { readonly order: number }>(records: Iterable<T>): T[] {
  return [...records].sort((one, other) => one.order - other.order);
}
