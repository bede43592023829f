/** Locations, rooms, groups, devices and access tokens, as the gateway knows them. */

import type { Grant } from './grants.js';

export interface Location {
  readonly id: string;
  readonly name: string;
  /** Rises with every creation; lists are in this order. */
  readonly order: number;
}

export interface Group {
  readonly id: string;
  readonly locationId: string;
  readonly name: string;
  readonly order: number;
}

export interface Room {
  readonly id: string;
  readonly locationId: string;
  readonly groupId: string | null;
  readonly name: string;
  readonly order: number;
}

export interface Device {
  readonly id: string;
  readonly locationId: string;
  readonly roomId: string | null;
  readonly name: string;
  readonly order: number;
  readonly createdAtMs: number;
  /** SHA-256 of the secret, hexadecimal. */
  readonly secretHash: string;
  /** JSON text of an object. */
  readonly customData: string;
  /** After how many seconds without a packet it is silent; undefined: as the configuration says. */
  readonly silentAfterSeconds?: number | undefined;
}

export interface AccessToken {
  readonly id: string;
  readonly name: string;
  readonly grants: readonly Grant[];
  /** SHA-256 of the token, hexadecimal. */
  readonly tokenHash: string;
  readonly order: number;
  readonly createdAtMs: number;
  readonly expiresAtMs: number | null;
}

/** All records of the site, as loaded at start. */
export interface SiteRecords {
  readonly locations: readonly Location[];
  readonly groups: readonly Group[];
  readonly rooms: readonly Room[];
  readonly devices: readonly Device[];
  readonly accessTokens: readonly AccessToken[];
}

/** The record of each kind. */
export interface RecordOfKind {
  readonly location: Location;
  readonly group: Group;
  readonly room: Room;
  readonly device: Device;
  readonly 'access-token': AccessToken;
}

export const RECORD_KINDS = ['location', 'group', 'room', 'device', 'access-token'] as const;
export type RecordKind = (typeof RECORD_KINDS)[number];

/** One record before and after a change; undefined while it does not exist. */
export interface RecordChange<Kind extends RecordKind = RecordKind> {
  readonly kind: Kind;
  readonly before: RecordOfKind[Kind] | undefined;
  readonly after: RecordOfKind[Kind] | undefined;
}
