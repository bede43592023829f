import type { Backlog } from '../queues/queue-store.js';
import type { Subscription } from './subscriptions.js';

/** A persistent session as it is stored; the account of its queues stands beside it. */
export interface SessionRecord {
  /** `sessionKey` */
  readonly key: string;
  /** `principalKey` of the principal it belongs to. */
  readonly owner: string;
  readonly clientId: string;
  readonly subscriptions: readonly Subscription[];
  /** When the session was last connected, by the steady clock. */
  readonly seenAtMs: number;
  /** How long the session outlives its connection; undefined: as long as all may. */
  readonly expirySeconds?: number | undefined;
}

/** All stored sessions. */
export interface StoredSessions {
  readonly sessions: readonly (SessionRecord & {
    /** The packet identifiers of QoS 2 publishes that the client has not released. */
    readonly received: readonly number[];
  })[];
  /** Keys of sessions whose record cannot be read. */
  readonly unreadable: readonly string[];
}

/** Stores persistent sessions. */
export interface SessionStore {
  load(): Promise<StoredSessions>;
  save(session: SessionRecord): Promise<void>;
  /** Writes a record that is gone, removes keys that were overwritten, and makes the account hold. */
  mend(session: SessionRecord): Promise<Backlog>;
  /** Forgets QoS 2 packet identifiers that the client released. */
  release(key: string, packetIdentifiers: readonly number[]): Promise<void>;
  /** Removes the session with its queues. */
  delete(key: string): Promise<void>;
}
