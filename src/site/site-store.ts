import type { RecordChange, SiteRecords } from '../domain/site.js';
import type { AuditEntry } from './audit-trail.js';

/** The site as stored, as far as it is readable. */
export interface SiteState {
  readonly records: SiteRecords;
  /** The records that lack what their kind must hold: `location:<id>`, of devices and tokens the `principalKey`. */
  readonly unreadable: ReadonlySet<string>;
  /** How many changes the site has had, by any gateway. */
  readonly revision: number;
}

/** Stores the site. */
export interface SiteStore {
  /**
   * Loads the site without its unreadable records.
   *
   * @throws GatewayError `store-unavailable`, also when all records of a kind were overwritten
   */
  load(): Promise<SiteState>;
  /**
   * How many changes the site has had, by any gateway.
   *
   * @throws GatewayError `store-unavailable`
   */
  revision(): Promise<number>;
  /**
   * Writes the records and the audit entry of one change, in one atomic call.
   *
   * @param revision the number of changes that the site has had, as far as the caller knows
   * @returns false, with nothing written, when the site has had other changes
   * @throws GatewayError `store-unavailable`, and then it is unknown whether the change was made
   */
  change(records: readonly RecordChange[], entry: AuditEntry, revision: number): Promise<boolean>;
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
  readonly supervision?: { readonly silentAfterSeconds?: number | null | undefined } | undefined;
}
