import type { AccessToken, Device, Location, SiteRecords } from '../domain/site.js';

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

  /** `location-not-found`, `device-id-in-use` */
  createDevice(device: Device): Promise<void>;
  /** `device-not-found` when it is not, or no longer, in the location */
  changeDevice(device: DeviceKey, change: DeviceChange): Promise<void>;
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

export interface DeviceChange {
  readonly name?: string;
  readonly secretHash?: string;
}
