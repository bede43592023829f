import type { Backlog } from '../queues/queue-store.js';
import type { Subscription } from './subscriptions.js';

/** A persistent session as stored. The account of its queues is stored next to it. */
export interface SessionRecord {
  /** `sessionKey` */
  readonly key: string;
  /** `principalKey` of its owner. */
  readonly owner: string;
  readonly clientId: string;
  readonly subscriptions: readonly Subscription[];
  /** When the session was last connected, by the steady clock. */
  readonly seenAtMs: number;
  /** How long the session outlives its connection; undefined: as long as any session may. */
  readonly expirySeconds?: number | undefined;
}

/** All stored sessions. */
export interface StoredSessions {
  readonly sessions: readonly (SessionRecord & {
    /** The packet identifiers of QoS 2 publishes that the client has not released. */
    readonly received: readonly number[];
  })[];
  /** Keys of sessions with an unreadable record. */
  readonly unreadable: readonly string[];
}

/** Stores persistent sessions. */
export interface SessionStore {
  load(): Promise<StoredSessions>;
  save(session: SessionRecord): Promise<void>;
  /** Restores a lost record, removes overwritten keys, and makes the account balance. */
  mend(session: SessionRecord): Promise<Backlog>;
  /** Forgets QoS 2 packet identifiers that the client has released. */
  release(key: string, packetIdentifiers: readonly number[]): Promise<void>;
  /** Removes the session with its queues. */
  delete(key: string): Promise<void>;
}
