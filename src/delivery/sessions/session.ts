import type { Audience } from '../../domain/grants.js';
import type { Consumer } from '../consumer.js';
import type { ConsumerLimits } from '../consumer-options.js';
import type { ReceivedIdentifiers } from './received-identifiers.js';

/** How a client opens its session. */
export interface SessionStart {
  /** Whether a session that is there is to be replaced. */
  readonly isCleanStart: boolean;
  /** Whether the session outlives the connection. */
  readonly isPersistent: boolean;
  /** For how long; undefined: as long as all may. */
  readonly sessionExpirySeconds?: number | undefined;
}

/** Of a session that is kept, and of one that ends with its connection. */
export const PERSISTENT = { isCleanStart: false, isPersistent: true } as const;
export const CLEAN = { isCleanStart: true, isPersistent: false } as const;

/** The principal that owns a session, and its permissions. */
export interface SessionOwner {
  /** `principalKey` */
  readonly key: string;
  readonly mayReceive: (audience: Audience) => boolean;
  /** Absent: the limits of all sessions. */
  readonly limits?: ConsumerLimits | undefined;
  /** Whether the owner's sessions are kept however long they are away. */
  readonly isKept?: boolean | undefined;
}

/**
 * Identifies a session: a client id belongs to its principal's own name space.
 *
 * @param owner `principalKey`
 */
export function sessionKey(owner: string, clientId: string): string {
  return `${owner}/${clientId}`;
}

/** A client's consumer, and its packet identifiers that are not released. */
export interface Session {
  /** `sessionKey` */
  readonly key: string;
  readonly clientId: string;
  readonly owner: SessionOwner;
  readonly isPersistent: boolean;
  /** Undefined for a clean session that has never subscribed: most devices never do. */
  readonly consumer: Consumer | undefined;
  readonly received: ReceivedIdentifiers;
  /** Whether the newest connection has found the session there [MQTT-3.2.2-2]. */
  readonly isResumed: boolean;
  /**
   * How long the client wants the session to outlive its connection (MQTT 5, 3.1.2.11.2), within what all may;
   * undefined: as long as all may.
   */
  readonly expirySeconds: number | undefined;
  /** When the session was last connected, by the steady clock. */
  readonly seenAtMs: number;
  /** Whether the present subscriptions are stored. */
  readonly isSaved: boolean;
}

/** A session that receives messages. */
export type ConsumingSession = Session & { readonly consumer: Consumer };

/** Whether the session has a consumer. */
export function isConsuming<S extends Session>(session: S): session is S & ConsumingSession {
  return session.consumer !== undefined;
}
