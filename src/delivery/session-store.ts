import type { LogName } from './log-entry.js';
import type { Subscription } from './subscriptions.js';

/** How far a session is in each log. */
export type CursorPositions = Readonly<Record<LogName, number>>;

/** A persistent session as it is kept. */
export interface SessionRecord {
  readonly clientId: string;
  /** `principalKey` of the one it belongs to. */
  readonly owner: string;
  readonly subscriptions: readonly Subscription[];
  readonly cursors: CursorPositions;
}

export interface SessionProgress {
  readonly clientId: string;
  readonly cursors: CursorPositions;
}

/** Where persistent sessions are kept. */
export interface SessionStore {
  load(): Promise<SessionRecord[]>;
  save(session: SessionRecord): Promise<void>;
  saveProgress(sessions: readonly SessionProgress[]): Promise<void>;
  delete(clientId: string): Promise<void>;
}
