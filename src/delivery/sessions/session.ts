/** A session of an MQTT client, an event stream or an outlet: who owns it, what it has, and what is stored of it. */
import type { InvalidPublishReason } from '../../domain/alarm.js';
import type { Audience } from '../../domain/grants.js';
import { oneAtATime } from '../../releasers.js';
import type { Consumer, ConsumerLimits, HistorySource } from '../consumer.js';
import type { Subscription } from './subscriptions.js';

/** How a client opens its session. */
export interface SessionStart {
  /** Whether to replace an existing session. */
  readonly isCleanStart: boolean;
  /** Whether the session outlives the connection. */
  readonly isPersistent: boolean;
  /** For how long; undefined: as long as any session may. */
  readonly sessionExpirySeconds?: number | undefined;
  /** Where the alarms of a clean session begin; undefined: with the next one. */
  readonly history?: HistorySource | undefined;
}

/** The starts of a session that is kept, and of one that ends with its connection. */
export const PERSISTENT = { isCleanStart: false, isPersistent: true } as const;
export const CLEAN = { isCleanStart: true, isPersistent: false } as const;

/** The principal who owns a session, and its permissions. */
export interface SessionOwner {
  /** `principalKey` */
  readonly key: string;
  readonly mayReceive: (audience: Audience) => boolean;
  /** Undefined: the limits that apply to all sessions. */
  readonly limits?: ConsumerLimits | undefined;
  /** Whether the owner's sessions are kept however long they are away. */
  readonly isKept?: boolean | undefined;
}

/**
 * Identifies a session: each principal has its own namespace of client ids.
 *
 * @param owner `principalKey`
 */
export function sessionKey(owner: string, clientId: string): string {
  return `${owner}/${clientId}`;
}

/** A client's consumer and its unreleased packet identifiers. Only `Sessions` changes it. */
export class Session {
  /** `sessionKey` */
  readonly key: string;
  readonly clientId: string;
  readonly isPersistent: boolean;
  readonly received = new ReceivedIdentifiers();
  owner: SessionOwner;
  /** Undefined for a clean session that has never subscribed: most devices never do. */
  consumer: Consumer | undefined;
  /** Whether the session already existed for the newest connection [MQTT-3.2.2-2]. */
  isResumed = false;
  /**
   * How long the client wants the session to outlive its connection (MQTT 5, 3.1.2.11.2), within the limit for all;
   * undefined: as long as any session may.
   */
  expirySeconds: number | undefined;
  /** When the session was last connected, by the steady clock. */
  seenAtMs: number;
  /** How many connections have it open: two while one takes over from another. Bridges do not count. */
  openCount = 0;
  /** Whether the current subscriptions are stored. */
  isSaved = false;
  /** Stores the whole session if it is persistent: a thousand simultaneous SUBSCRIBEs are one write. */
  readonly save: () => Promise<void>;

  constructor(
    record: Pick<SessionRecord, 'key' | 'clientId' | 'seenAtMs' | 'expirySeconds'>,
    owner: SessionOwner,
    isPersistent: boolean,
    store: (session: Session) => Promise<void>,
  ) {
    this.key = record.key;
    this.clientId = record.clientId;
    this.seenAtMs = record.seenAtMs;
    this.expirySeconds = record.expirySeconds;
    this.owner = owner;
    this.isPersistent = isPersistent;
    const saved = Promise.resolve();
    this.save = isPersistent ? oneAtATime(() => store(this)) : () => saved;
  }

  /** Whether it is connected, or kept as if it were. */
  get isInUse(): boolean {
    const { consumer, openCount, owner } = this;
    return openCount > 0 || consumer?.isConnected === true || owner.isKept === true;
  }

  record(): SessionRecord {
    const { key, clientId, owner, seenAtMs, expirySeconds, consumer } = this;
    return {
      expirySeconds,
      key,
      clientId,
      owner: owner.key,
      subscriptions: consumer?.subscriptions.list() ?? [],
      seenAtMs: this.isInUse ? CONNECTED : seenAtMs,
    };
  }
}

/** A session that receives messages. */
export type ConsumingSession = Session & { readonly consumer: Consumer };

export function isConsuming(session: Session): session is ConsumingSession {
  return session.consumer !== undefined;
}

/** Stored instead of a time while the session is connected, or if it is kept however long it is away. */
export const CONNECTED = 0;

/** A persistent session as stored. The account of its queue is stored next to it. */
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

type Done = (isStored: boolean, refused?: InvalidPublishReason) => void;

/**
 * The packet identifiers of a session's QoS 2 publishes that its client has not released.
 *
 * A repetition must not count as another publish [MQTT-4.3.3-2], even while the first is still on its way to the store.
 * They end with the gateway: of an alarm that comes again after a restart the history knows, by its id or receipt.
 */
export class ReceivedIdentifiers {
  /** Those that are taken, and those on their way with the callbacks that wait for that. Most clients have none. */
  #known: Map<number, Done[] | 'taken'> | undefined;

  /**
   * Registers a publish with this identifier.
   *
   * @param done called when the first publish with this identifier is stored, or cannot be
   * @returns whether the publish is the first with this identifier
   */
  add(packetIdentifier: number, done: Done): boolean {
    this.#known ??= new Map();
    const known = this.#known.get(packetIdentifier);
    if (known === 'taken') done(true);
    else if (known !== undefined) known.push(done);
    else this.#known.set(packetIdentifier, [done]);
    return known === undefined;
  }

  /**
   * Resolves an identifier: its first publish is stored, or cannot be.
   *
   * @param refused why the publish cannot be used
   */
  resolve(packetIdentifier: number, isStored: boolean, refused?: InvalidPublishReason): void {
    const waiting = this.#known?.get(packetIdentifier);
    if (isStored) this.#known?.set(packetIdentifier, 'taken');
    else this.#known?.delete(packetIdentifier);
    if (Array.isArray(waiting)) for (const done of waiting) done(isStored, refused);
  }

  /** Forgets an identifier that the client released, once no publish with it is on its way; then calls back. */
  release(packetIdentifier: number, callback: () => void = () => undefined): void {
    const known = this.#known?.get(packetIdentifier);
    const forget = () => {
      this.#known?.delete(packetIdentifier);
      callback();
    };
    if (Array.isArray(known)) known.push(forget);
    else forget();
  }
}
