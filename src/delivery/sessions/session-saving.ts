import type { Logger } from 'pino';
import type { Consumer } from '../consumer.js';
import {
  type ConsumingSession,
  isConsuming,
  ReceivedIdentifiers,
  type Session,
  type SessionOwner,
} from './session.js';
import type { SessionRecord, SessionStore } from './session-store.js';
import type { SharedTurn } from './shared-turn.js';

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
