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
  readonly sessions: readonly SessionRecord[];
  /** Keys of sessions with an unreadable record. */
  readonly unreadable: readonly string[];
}

/** Stores persistent sessions. */
export interface SessionStore {
  load(): Promise<StoredSessions>;
  save(session: SessionRecord): Promise<void>;
  /**
   * Restores a lost record, removes overwritten keys, and makes the account balance.
   *
   * @returns how many entries wait
   */
  mend(session: SessionRecord): Promise<number>;
  /** Removes the session with its queue. */
  delete(key: string): Promise<void>;
}
