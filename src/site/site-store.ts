import type { LimitsChange } from '../domain/limits.js';
import type { AccessToken, Device, Group, Location, Room, SiteRecords } from '../domain/site.js';
import type { AuditEntry } from './audit-trail.js';
import type { SiteFinding, SiteState } from './site-findings.js';

/**
 * Stores the site.
 *
 * Every change is one atomic call, which checks and then writes, together with its audit entry, to which
 * it adds the former values. A change that fails with a `GatewayError` of a code named below has changed
 * nothing; after `store-unavailable` it is unknown whether it was made.
 */
export interface SiteStore {
  /** Loads the site, restoring lists of ids by the records; unusable records are findings. */
  load(): Promise<SiteState>;
  /** Corrects the stored lists of members by the records that were loaded. */
  repairMembers(records: SiteRecords): Promise<readonly SiteFinding[]>;

  createLocation(location: Location, entry: AuditEntry): Promise<void>;
  /** `location-not-found` */
  renameLocation(id: string, name: string, entry: AuditEntry): Promise<void>;
  /** Deletes its rooms and groups, too. `location-not-found`, `location-has-devices` */
  deleteLocation(id: string, entry: AuditEntry): Promise<void>;

  /** `location-not-found` */
  createGroup(group: Group, entry: AuditEntry): Promise<void>;
  /** `group-not-found` */
  renameGroup(group: GroupKey, name: string, entry: AuditEntry): Promise<void>;
  /** `group-not-found`, `group-has-rooms` */
  deleteGroup(group: GroupKey, entry: AuditEntry): Promise<void>;

  /** `location-not-found`, `group-not-found` when its group is not in the location */
  createRoom(room: Room, entry: AuditEntry): Promise<void>;
  /** `room-not-found`, `group-not-found` when the new group is not in the location */
  changeRoom(room: RoomKey, change: RoomChange, entry: AuditEntry): Promise<void>;
  /** `group-not-found` for either group, `room-not-found` when the room is not in the first */
  moveRoom(room: RoomKey, fromGroupId: string, toGroupId: string, entry: AuditEntry): Promise<void>;
  /** `room-not-found`, `room-has-devices` */
  deleteRoom(room: RoomKey, entry: AuditEntry): Promise<void>;

  /** `location-not-found`, `device-id-in-use` */
  createDevice(device: Device, entry: AuditEntry): Promise<void>;
  /** `device-not-found` when it is not, or no longer, in the location */
  changeDevice(device: DeviceKey, change: DeviceChange, entry: AuditEntry): Promise<void>;
  /**
   * `device-not-found`, `location-not-found` for the new location, `room-not-found` when the room is
   * not in it
   */
  moveDevice(device: DeviceKey, to: DevicePlace, entry: AuditEntry): Promise<void>;
  /** `device-not-found`, `changed-meanwhile` when the stored data is not the `expected` one */
  replaceCustomData(
    device: DeviceKey,
    expected: string | undefined,
    customData: string,
    entry: AuditEntry,
  ): Promise<void>;
  /** `device-not-found` */
  deleteDevice(device: DeviceKey, entry: AuditEntry): Promise<void>;

  createAccessToken(token: AccessToken, entry: AuditEntry): Promise<void>;
  /** `access-token-not-found` */
  deleteAccessToken(id: string, entry: AuditEntry): Promise<void>;
  /**
   * Records that the token has expired, once. `access-token-not-found`, `changed-meanwhile` when it
   * was recorded before
   */
  noteExpiry(id: string, entry: AuditEntry): Promise<void>;
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

/** The place of a device. */
export interface DevicePlace {
  readonly locationId: string;
  readonly roomId: string | null;
}

/** A change of a room: undefined parts stay; `null` takes the room out of its group. */
export interface RoomChange {
  readonly name?: string | undefined;
  readonly groupId?: string | null | undefined;
}

/** A change of a device: undefined parts stay. */
export interface DeviceChange {
  readonly name?: string | undefined;
  readonly secretHash?: string | undefined;
  readonly limits?: LimitsChange | undefined;
}
