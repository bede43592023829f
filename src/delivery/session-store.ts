import type { CursorState } from './cursor-state.js';
import type { LogName } from './log-entry.js';
import type { Subscription } from './subscriptions.js';

/** Where a session is in each log, and what became of what it was owed. */
export type SessionCursors = Readonly<Record<LogName, CursorState>>;

/** A persistent session as it is kept. */
export interface SessionRecord {
  readonly clientId: string;
  /** `principalKey` of the one it belongs to. */
  readonly owner: string;
  readonly subscriptions: readonly Subscription[];
  readonly cursors: SessionCursors;
  /** When it was last connected. */
  readonly seenAtMs: number;
}

export interface SessionProgress {
  readonly clientId: string;
  readonly cursors: SessionCursors;
  readonly seenAtMs: number;
}

/** Where persistent sessions are kept. */
export interface SessionStore {
  load(): Promise<SessionRecord[]>;
  save(session: SessionRecord): Promise<void>;
  saveProgress(sessions: readonly SessionProgress[]): Promise<void>;
  delete(clientId: string): Promise<void>;
}
