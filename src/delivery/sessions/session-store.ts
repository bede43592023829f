import type { CursorState } from '../cursors/cursor-state.js';
import type { LogName, LogPositions } from '../log/log-entry.js';
import type { Subscription } from './subscriptions.js';

/** A session's position and account in each log. */
export type SessionCursors = Readonly<Record<LogName, CursorState>>;

/** A persistent session as it is stored. */
export interface SessionRecord extends SessionPosition {
  /** `principalKey` of the principal it belongs to. */
  readonly owner: string;
  readonly clientId: string;
  readonly subscriptions: readonly Subscription[];
}

export interface SessionPosition {
  /** `sessionKey` */
  readonly key: string;
  readonly cursors: SessionCursors;
  /** When the session was last connected, by the steady clock. */
  readonly seenAtMs: number;
}

/** All stored sessions. */
export interface StoredSessions {
  readonly sessions: readonly (SessionRecord & {
    /** The packet identifiers of QoS 2 publishes that the client has not released. */
    readonly received: readonly number[];
  })[];
  /** Keys of sessions whose record cannot be read. */
  readonly unreadable: readonly string[];
  /** The entries up to which every stored cursor counts what it accepted. */
  readonly countedUpTo: LogPositions;
}

/** Stores persistent sessions. */
export interface SessionStore {
  load(): Promise<StoredSessions>;
  save(session: SessionRecord): Promise<void>;
  saveCursors(sessions: readonly SessionPosition[]): Promise<void>;
  saveCountedUpTo(positions: LogPositions): Promise<void>;
  /** Forgets QoS 2 packet identifiers that the client released. */
  release(key: string, packetIdentifiers: readonly number[]): Promise<void>;
  delete(key: string): Promise<void>;
}
