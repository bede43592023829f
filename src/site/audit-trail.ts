/** What is written down, so that a security officer can read who did what, when and from where. */
export const AUDIT_ACTIONS = [
  'location.created',
  'location.changed',
  'location.deleted',
  'group.created',
  'group.changed',
  'group.deleted',
  'room.created',
  'room.changed',
  'room.moved',
  'room.deleted',
  'device.created',
  'device.changed',
  'device.moved',
  'device.deleted',
  'device.secret-replaced',
  'custom-data.changed',
  'access-token.created',
  'access-token.deleted',
  'access-token.expired',
  'footage.url-made',
  'footage.upload-url-made',
  'permission.refused',
] as const;

export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** Who acts: a principal over HTTP or MQTT, or the gateway itself, as when a token expires. */
export interface Actor {
  readonly type: 'access-token' | 'device' | 'gateway';
  /** The token's or the device's id, null for the gateway. */
  readonly id: string | null;
  /** From where, null for the gateway. */
  readonly address: string | null;
  /** `X-Request-Id` of the request, null where there is none. */
  readonly requestId: string | null;
}

export interface AuditEntry {
  readonly action: AuditAction;
  readonly actor: Actor;
  readonly atMs: number;
  /** The location that it concerns, null where it concerns none or all. */
  readonly locationId: string | null;
  /** What it was done to: the id of the location, group, room, device or access token. */
  readonly resourceId: string | null;
  /** What else belongs to it: the target of a move, the object key of a URL, the refused request. */
  readonly details: Readonly<Record<string, string | null>>;
}

/** Where it is written down. */
export interface AuditTrail {
  /**
   * Resolves once all of them are stored.
   *
   * @throws GatewayError `store-unavailable`
   */
  record(entries: readonly AuditEntry[]): Promise<void>;
}
