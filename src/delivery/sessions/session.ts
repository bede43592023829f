import type { Audience } from '../../domain/grants.js';
import type { Consumer } from '../consumer.js';
import type { ConsumerLimits } from '../consumer-options.js';
import type { ReceivedIdentifiers } from './received-identifiers.js';

/** How a client opens its session. */
export interface SessionStart {
  /** Whether to replace an existing session. */
  readonly isCleanStart: boolean;
  /** Whether the session outlives the connection. */
  readonly isPersistent: boolean;
  /** For how long; undefined: as long as any session may. */
  readonly sessionExpirySeconds?: number | undefined;
}

/** The starts of a session that is kept, and of one that ends with its connection. */
export const PERSISTENT = { isCleanStart: false, isPersistent: true } as const;
export const CLEAN = { isCleanStart: true, isPersistent: false } as const;

/** The principal who owns a session, and its permissions. */
export interface SessionOwner {
  /** `principalKey` */
  readonly key: string;
  readonly mayReceive: (audience: Audience) => boolean;
  /** Undefined: the limits that apply to all sessions. */
  readonly limits?: ConsumerLimits | undefined;
  /** Whether the owner's sessions are kept however long they are away. */
  readonly isKept?: boolean | undefined;
}

/**
 * Identifies a session: each principal has its own namespace of client ids.
 *
 * @param owner `principalKey`
 */
export function sessionKey(owner: string, clientId: string): string {
  return `${owner}/${clientId}`;
}

/** A client's consumer and its unreleased packet identifiers. */
export interface Session {
  /** `sessionKey` */
  readonly key: string;
  readonly clientId: string;
  readonly owner: SessionOwner;
  readonly isPersistent: boolean;
  /** Undefined for a clean session that has never subscribed: most devices never do. */
  readonly consumer: Consumer | undefined;
  readonly received: ReceivedIdentifiers;
  /** Whether the session already existed for the newest connection [MQTT-3.2.2-2]. */
  readonly isResumed: boolean;
  /**
   * How long the client wants the session to outlive its connection (MQTT 5, 3.1.2.11.2), within the limit for all;
   * undefined: as long as any session may.
   */
  readonly expirySeconds: number | undefined;
  /** When the session was last connected, by the steady clock. */
  readonly seenAtMs: number;
  /** Whether the current subscriptions are stored. */
  readonly isSaved: boolean;
}

/** A session that receives messages. */
export type ConsumingSession = Session & { readonly consumer: Consumer };

/** Whether the session has a consumer. */
export function isConsuming<S extends Session>(session: S): session is S & ConsumingSession {
  return session.consumer !== undefined;
}
