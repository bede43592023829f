/** Stores persistent sessions: what a record holds, and many changed ones in one write. */
import type { Logger } from 'pino';
import type { Consumer } from '../consumer.js';
import {
  type ConsumingSession,
  isConsuming,
  ReceivedIdentifiers,
  type Session,
  type SessionOwner,
} from './session.js';
import type { Subscription } from './subscriptions.js';

/** A session as `Sessions` keeps it. */
export interface KeptSession extends Session {
  owner: SessionOwner;
  consumer: Consumer | undefined;
  /** Stores the whole session: a thousand simultaneous SUBSCRIBEs are one write. */
  saving: SharedTurn | undefined;
  expirySeconds: number | undefined;
  seenAtMs: number;
  isResumed: boolean;
  /** How many connections have it open: two while one takes over from another. Bridges do not count. */
  openCount: number;
  isSaved: boolean;
}

export function newSession(
  record: Pick<SessionRecord, 'key' | 'clientId' | 'seenAtMs' | 'expirySeconds'>,
  owner: SessionOwner,
  isPersistent: boolean,
): KeptSession {
  const { key, clientId, seenAtMs, expirySeconds } = record;
  return {
    key,
    clientId,
    owner,
    isPersistent,
    expirySeconds,
    seenAtMs,
    consumer: undefined,
    isResumed: false,
    openCount: 0,
    isSaved: false,
    saving: undefined,
    received: new ReceivedIdentifiers(),
  };
}

/** Stored instead of a time while the session is connected, or if it is kept however long it is away. */
export const CONNECTED = 0;

export interface SessionSavingOptions {
  readonly store: Pick<SessionStore, 'save'>;
  /** Whether the session has not ended. */
  readonly isKept: (session: KeptSession) => boolean;
  readonly log: Logger;
}

/** Stores the records of persistent sessions. */
export class SessionSaving {
  readonly #options: SessionSavingOptions;

  constructor(options: SessionSavingOptions) {
    this.#options = options;
  }

  async save(session: KeptSession): Promise<void> {
    const { store, isKept } = this.#options;
    // A discarded session must not be written again.
    if (!isKept(session) || !isConsuming(session)) return;
    // Set before the answer: later changes belong to the next save.
    session.isSaved = true;
    try {
      await store.save(recordOf(session));
    } catch (error) {
      session.isSaved = false;
      throw error;
    }
  }

  /**
   * Writes without waiting for the store, and logs a failure.
   *
   * A new session has nothing to lose yet: CONNACK does not wait for the store, so a device can
   * connect while the store is away. The first subscription is stored with the whole session,
   * before SUBACK.
   */
  inBackground(key: string, work: Promise<void>): void {
    work.catch((error: unknown) => {
      this.#options.log.warn({ err: error, session: key }, 'failed to store a session');
    });
  }
}

export function recordOf(session: KeptSession & ConsumingSession): SessionRecord {
  const { key, clientId, owner, seenAtMs, expirySeconds } = session;
  const isInUse = session.openCount > 0 || session.consumer.isConnected || owner.isKept === true;
  return {
    expirySeconds,
    key,
    clientId,
    owner: owner.key,
    subscriptions: session.consumer.subscriptions.list(),
    seenAtMs: isInUse ? CONNECTED : seenAtMs,
  };
}

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

/**
 * Runs a piece of work one turn at a time.
 *
 * Callers during a turn share the next one, which sees all changes made until it begins.
 */
export class SharedTurn {
  readonly #work: () => Promise<void>;
  #last: Promise<unknown> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(work: () => Promise<void>) {
    this.#work = work;
  }

  /** Resolves, or fails, with a turn that has not begun yet. */
  take(): Promise<void> {
    if (this.#next !== undefined) return this.#next;
    const next = this.#last.then(() => {
      this.#next = undefined;
      return this.#work();
    });
    this.#next = next;
    // A failure goes to the turn's own callers; the next turn only waits for the end.
    this.#last = Promise.allSettled([next]);
    return next;
  }
}
