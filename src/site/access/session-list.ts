/** A persistent session of a device or an access token, connected or away. */
export interface SessionView {
  readonly clientId: string;
  readonly principal: { readonly type: 'access-token' | 'device'; readonly id: string };
  readonly connected: boolean;
  /** When it was last connected; null while it is. */
  readonly awaySinceMs: number | null;
  /** Accepted for it, but not yet acknowledged. */
  readonly backlog: { readonly alarms: number; readonly messages: number };
  /** When the oldest of its backlog was received; null for none, or while the store is away. */
  readonly oldestQueuedAtMs: number | null;
}

export interface SessionPage {
  /** How many persistent sessions there are. */
  readonly total: number;
  readonly sessions: readonly SessionView[];
}

/** The persistent sessions. */
export interface SessionList {
  /** The largest backlogs first, alarms before messages; then the sessions away for the longest. */
  withLargestBacklogs(limit: number): Promise<SessionPage>;
}
