import type { Audience } from '../domain/grants.js';
import type { Consumer } from './consumer.js';
import type { ConsumerLimits } from './limits.js';
import type { ReceivedIdentifiers } from './received-identifiers.js';
import type { QoS } from './subscriptions.js';

/** A filter as a client asks for it, its QoS already limited to what is granted. */
export interface RequestedSubscription {
  readonly filter: string;
  readonly qos: QoS;
}

/** To whom a session belongs, and what that principal may see. */
export interface SessionOwner {
  /** `principalKey` */
  readonly key: string;
  readonly mayReceive: (audience: Audience) => boolean;
  /** The same for all whose `mayReceive` answers the same. */
  readonly audienceKey: string;
  /** Left out: those of all sessions. */
  readonly limits?: ConsumerLimits | undefined;
  /** Whether the owner's sessions are kept however long they are away. */
  readonly isKept?: boolean | undefined;
}

/** What a client finds again when it connects: its consumer, and what it has not released. */
export interface Session {
  readonly clientId: string;
  readonly owner: SessionOwner;
  readonly isPersistent: boolean;
  readonly consumer: Consumer;
  readonly received: ReceivedIdentifiers;
  /** Whether the newest connection has found the session there [MQTT-3.2.2-2]. */
  readonly isResumed: boolean;
  /** Whether its subscriptions are stored as they are. */
  readonly isSaved: boolean;
}
