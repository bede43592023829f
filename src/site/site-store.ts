import type { AccessToken, Device, Group, Location, Room, SiteRecords } from '../domain/site.js';

/**
 * Where the site is kept. Every change is one atomic call that checks first and writes afterwards;
 * it fails with a `GatewayError` of the code named for it and then has changed nothing, or with
 * `store-unavailable`, and then it is unknown whether it was made.
 */
export interface SiteStore {
  load(): Promise<SiteRecords>;

  createLocation(location: Location): Promise<void>;
  /** `location-not-found` */
  renameLocation(id: string, name: string): Promise<void>;
  /** With its rooms and groups. `location-not-found`, `location-has-devices` */
  deleteLocation(id: string): Promise<void>;

  /** `location-not-found` */
  createGroup(group: Group): Promise<void>;
  /** `group-not-found` */
  renameGroup(group: GroupKey, name: string): Promise<void>;
  /** `group-not-found`, `group-has-rooms` */
  deleteGroup(group: GroupKey): Promise<void>;

  /** `location-not-found`, `group-not-found` when its group is not in the location */
  createRoom(room: Room): Promise<void>;
  /** `room-not-found`, `group-not-found` when the new group is not in the location */
  changeRoom(room: RoomKey, change: RoomChange): Promise<void>;
  /** `group-not-found` for either group, `room-not-found` when the room is not in the first */
  moveRoom(room: RoomKey, fromGroupId: string, toGroupId: string): Promise<void>;
  /** `room-not-found`, `room-has-devices` */
  deleteRoom(room: RoomKey): Promise<void>;

  /** `location-not-found`, `device-id-in-use` */
  createDevice(device: Device): Promise<void>;
  /** `device-not-found` when it is not, or no longer, in the location */
  changeDevice(device: DeviceKey, change: DeviceChange): Promise<void>;
  /**
   * `device-not-found`, `location-not-found` for the new location, `room-not-found` when the room is
   * not in it
   */
  moveDevice(device: DeviceKey, to: DevicePlace): Promise<void>;
  /** `device-not-found`, `changed-meanwhile` when the stored data is not the `expected` one */
  replaceCustomData(
    device: DeviceKey,
    expected: string | undefined,
    customData: string,
  ): Promise<void>;
  /** `device-not-found` */
  deleteDevice(device: DeviceKey): Promise<void>;

  createAccessToken(token: AccessToken): Promise<void>;
  /** `access-token-not-found` */
  deleteAccessToken(id: string): Promise<void>;
}

/** A device in the location in which it is looked for. */
export interface DeviceKey {
  readonly locationId: string;
  readonly deviceId: string;
}

/** A room in the location in which it is looked for. */
export interface RoomKey {
  readonly locationId: string;
  readonly roomId: string;
}

/** A group in the location in which it is looked for. */
export interface GroupKey {
  readonly locationId: string;
  readonly groupId: string;
}

/** Where a device can be. */
export interface DevicePlace {
  readonly locationId: string;
  readonly roomId: string | null;
}

/** What is undefined stays; without a group (`null`) is a change as well. */
export interface RoomChange {
  readonly name?: string | undefined;
  readonly groupId?: string | null | undefined;
}

export interface DeviceChange {
  readonly name?: string;
  readonly secretHash?: string;
}
