/** The recorded actions: for each, who did it, when and from where. */
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
  'alarm.acknowledged',
  'alarm.resolved',
  'alarm.tested',
  'alarms.erased',
  'access-token.created',
  'access-token.changed',
  'access-token.secret-replaced',
  'access-token.deleted',
  'bridge.deleted',
  'output.sent-again',
  'fault.acknowledged',
  'footage.url-made',
  'footage.upload-url-made',
  'permission.refused',
  'authentication.refused',
] as const;

export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** Whether a client was denied something. Such records are kept apart, so a flood of them removes no others. */
export function isDenial(action: AuditAction): boolean {
  return action === 'permission.refused' || action === 'authentication.refused';
}

export const ACTOR_TYPES = ['access-token', 'device', 'gateway', 'anonymous'] as const;

/**
 * The author of an action: a principal, the gateway, or an unknown client.
 *
 * The gateway generates the first administrator's token, for example. An unknown client has shown no valid credential.
 */
export interface Actor {
  readonly type: (typeof ACTOR_TYPES)[number];
  /** The token's or the device's id, null for the gateway and for an unknown actor. */
  readonly id: string | null;
  /** The address of the actor, null for the gateway. */
  readonly address: string | null;
  /** `X-Request-Id` of the request, null where there is none. */
  readonly requestId: string | null;
  /** Checked at the moment of a change; throws when the actor may no longer make it. Never stored. */
  readonly precondition?: (() => void) | undefined;
}

/** The gateway itself. */
export const GATEWAY_ACTOR: Actor = { type: 'gateway', id: null, address: null, requestId: null };

export interface AuditEntry {
  readonly action: AuditAction;
  readonly actor: Actor;
  readonly atMs: number;
  /** The location concerned, null for none or all. */
  readonly locationId: string | null;
  /** The object of the action: id of a location, group, room, device, alarm or token; a bridge's name; a fault's code. */
  readonly resourceId: string | null;
  /** Further details: the target of a move, the object key of a URL, the denied request. */
  readonly details: Readonly<Record<string, string | null>>;
}

/** The subject of an entry. */
export type AuditSubject = Pick<AuditEntry, 'locationId' | 'resourceId'>;

/** Writes entries to the audit trail. */
export interface AuditTrail {
  /**
   * Resolves once all entries are stored.
   *
   * @throws GatewayError `store-unavailable`
   */
  record(entries: readonly AuditEntry[]): Promise<void>;
}
