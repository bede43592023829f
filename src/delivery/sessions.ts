import type { Logger } from 'pino';
import type { Audience } from '../domain/grants.js';
import { freshCursor } from './cursor-state.js';
import { Destination } from './destination.js';
import type { DestinationLimits } from './limits.js';
import type { LogName, LogReader } from './log-entry.js';
import { ProgressKeeper } from './progress-keeper.js';
import type { Router } from './router.js';
import type { SessionProgress, SessionRecord, SessionStore } from './session-store.js';
import { SharedTurn } from './shared-turn.js';
import type { QoS, Subscription } from './subscriptions.js';
import { Subscriptions } from './subscriptions.js';

/** A filter as a client asks for it, its QoS already limited to what is granted. */
export interface RequestedSubscription {
  readonly filter: string;
  readonly qos: QoS;
}

/** To whom a session belongs, and what he may see. */
export interface SessionOwner {
  /** `principalKey` */
  readonly key: string;
  readonly mayReceive: (audience: Audience) => boolean;
  /** The same for all whose `mayReceive` answers the same. */
  readonly audienceKey: string;
  /** Left out: those of all sessions. */
  readonly limits?: DestinationLimits | undefined;
  /** Whether his sessions are kept however long they are away. */
  readonly isKept?: boolean | undefined;
}

interface Session {
  readonly owner: SessionOwner;
  readonly isPersistent: boolean;
  readonly destination: Destination;
  /** Stores all of it: a thousand SUBSCRIBEs that come at once are one write. */
  readonly saving: SharedTurn;
  seenAtMs: number;
  /** Whether a connection has taken it up that did not begin it. */
  isResumed: boolean;
}

export interface SessionsOptions {
  readonly store: SessionStore;
  readonly reader: LogReader;
  readonly router: Router;
  /** The owner of a stored session by his `principalKey`, undefined when he is gone. */
  readonly ownerOf: (key: string) => SessionOwner | undefined;
  readonly limits: DestinationLimits;
  readonly forgetAfterMs: number;
  readonly log: Logger;
  readonly now: () => number;
}

const FORGET_INTERVAL_MS = 60_000;
/** In place of the time at which a session was last connected: it is. */
const CONNECTED = 0;

/** The sessions of MQTT clients, by client id: each a destination of forwarded messages. */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #progress: ProgressKeeper;
  readonly #sessions = new Map<string, Session>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#progress = new ProgressKeeper(options.store, options.log);
  }

  /** Takes up the persistent sessions where they stopped. */
  async start(): Promise<void> {
    const { store, ownerOf } = this.#options;
    for (const record of await store.load()) {
      const owner = ownerOf(record.owner);
      // A session that was connected when the gateway ended has been away since now.
      const seenAtMs = record.seenAtMs === CONNECTED ? this.#options.now() : record.seenAtMs;
      if (owner === undefined) await store.delete(record.clientId);
      else {
        this.#progress.stored(record);
        this.#open({ ...record, seenAtMs }, owner, true);
      }
    }
    this.#timer = setInterval(() => this.#forgetUnused(), FORGET_INTERVAL_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.saveProgress();
  }

  /** Every cursor that has moved is stored when this resolves. */
  async saveProgress(): Promise<void> {
    await this.#progress.flush();
  }

  /** Up to where nobody is owed anything of the log, going by what is stored of the sessions. */
  storedSettled(log: LogName): number {
    return this.#progress.storedSettled(log);
  }

  /** `principalKey` of the one to whom the session belongs, undefined when there is none. */
  ownerOf(clientId: string): string | undefined {
    return this.#sessions.get(clientId)?.owner.key;
  }

  get(clientId: string): Destination | undefined {
    return this.#sessions.get(clientId)?.destination;
  }

  /** Whoever may be owed something: persistent sessions, and clean ones that have subscribed. */
  destinations(): Destination[] {
    return [...this.#sessions.values()]
      .filter(({ isPersistent, destination }) => isPersistent || destination.subscriptions.size > 0)
      .map(({ destination }) => destination);
  }

  /**
   * The session of a client that connects: its persistent one, or a new one. A clean session ends
   * with its connection (`closed`) and leaves nothing behind. Does not wait for the store, so that a
   * device gets in while it is away (CONTRACT 4.4); a SUBSCRIBE does, and comes behind it there.
   */
  open(clientId: string, owner: SessionOwner, isPersistent: boolean): Destination {
    const session = this.#sessions.get(clientId);
    if (session?.isPersistent === true && isPersistent) {
      session.destination.limits = owner.limits ?? this.#options.limits;
      session.isResumed = true;
      return session.destination;
    }
    this.#inBackground(clientId, this.discard(clientId));
    const { newest } = this.#options.router;
    const record: SessionRecord = {
      clientId,
      owner: owner.key,
      subscriptions: [],
      cursors: { alarms: freshCursor(newest.alarms), messages: freshCursor(newest.messages) },
      seenAtMs: this.#options.now(),
    };
    const destination = this.#open(record, owner, isPersistent);
    if (isPersistent) {
      // Until more is stored of it, it is owed what comes from now on.
      this.#progress.stored(record);
      this.#inBackground(clientId, this.#options.store.save(record));
    }
    return destination;
  }

  /**
   * The client's connection is gone, and a clean session with it; unless another connection has
   * taken the client id over and has a session of its own [MQTT-3.1.4-2].
   */
  closed(clientId: string, destination: Destination): void {
    const session = this.#sessions.get(clientId);
    if (session?.destination !== destination) return;
    session.seenAtMs = this.#options.now();
    if (session.isPersistent) this.#moved(clientId, session);
    else this.#forget(clientId, session);
  }

  /** Adds subscriptions; for a persistent session they are stored when this resolves. */
  async subscribe(clientId: string, requested: readonly RequestedSubscription[]): Promise<void> {
    const session = this.#sessions.get(clientId);
    if (session === undefined) return;
    const { router } = this.#options;
    const { destination } = session;
    for (const { filter, qos } of requested) {
      destination.subscriptions.put(filter, qos, router.newest);
    }
    router.subscribed(
      destination,
      requested.map(({ filter }) => filter),
    );
    if (session.isPersistent) await session.saving.take();
  }

  async unsubscribe(clientId: string, filters: readonly string[]): Promise<void> {
    const session = this.#sessions.get(clientId);
    if (session === undefined) return;
    const { router } = this.#options;
    for (const filter of filters) {
      session.destination.subscriptions.remove(filter, router.newest);
    }
    router.ended(session.destination, filters);
    this.#prune(session.destination, filters);
    if (session.isPersistent) await session.saving.take();
  }

  /** Whether its newest connection has found the session there [MQTT-3.2.2-2]. */
  isResumed(clientId: string): boolean {
    return this.#sessions.get(clientId)?.isResumed === true;
  }

  subscriptionsOf(clientId: string): Subscription[] {
    return this.#sessions.get(clientId)?.destination.subscriptions.list() ?? [];
  }

  /** Ends the session for good; its connection, if any, is the caller's to close. */
  async discard(clientId: string): Promise<void> {
    const session = this.#sessions.get(clientId);
    if (session === undefined) return;
    this.#forget(clientId, session);
    if (session.isPersistent) await this.#options.store.delete(clientId);
  }

  /** Ends all sessions of a principal who is no more. */
  async discardAllOf(owner: string): Promise<void> {
    const owned = [...this.#sessions].filter(([, session]) => session.owner.key === owner);
    await Promise.all(owned.map(([clientId]) => this.discard(clientId)));
  }

  /** A session that is away for too long is forgotten, with what it is owed (CONTRACT 5). */
  #forgetUnused(): void {
    const { now, forgetAfterMs, log } = this.#options;
    for (const [clientId, { destination, owner, seenAtMs }] of this.#sessions) {
      if (owner.isKept === true || destination.isConnected || seenAtMs >= now() - forgetAfterMs)
        continue;
      log.warn({ clientId }, 'session forgotten, it was away for too long');
      this.discard(clientId).catch((error: unknown) => {
        log.warn({ err: error, clientId }, 'forgotten session not deleted');
      });
    }
  }

  #open(record: SessionRecord, owner: SessionOwner, isPersistent: boolean): Destination {
    const { router, reader, limits, now, log } = this.#options;
    const { clientId, seenAtMs } = record;
    const destination = new Destination({
      name: clientId,
      tails: router.tails,
      reader,
      cursors: record.cursors,
      subscriptions: new Subscriptions(record.subscriptions),
      mayReceive: owner.mayReceive,
      audienceKey: owner.audienceKey,
      limits: owner.limits ?? limits,
      now,
      onProgress: () => {
        this.#prune(destination, []);
        if (isPersistent) this.#moved(clientId, session);
      },
      onConnection: () => router.connectionChanged(destination),
      onReadFailure: (error) =>
        log.warn({ err: error, clientId }, 'backlog not read, trying again'),
    });
    const session: Session = {
      ...{ owner, isPersistent, destination, seenAtMs, isResumed: false },
      saving: new SharedTurn(() => this.#save(clientId, session)),
    };
    this.#sessions.set(clientId, session);
    router.add(destination);
    return destination;
  }

  /** Takes filters out of the routing to which nothing is owed any more. */
  #prune(destination: Destination, removed: readonly string[]): void {
    const { subscriptions, settled } = destination;
    for (const filter of [...subscriptions.prune(settled), ...removed]) {
      if (!subscriptions.knows(filter)) this.#options.router.unsubscribed(destination, filter);
    }
  }

  #moved(clientId: string, session: Session): void {
    // A connection may end after its session was discarded: that must not be written again.
    if (this.#sessions.get(clientId) !== session) return;
    this.#progress.moved(clientId, () => progressOf(clientId, session));
  }

  async #save(clientId: string, session: Session): Promise<void> {
    // Discarded since: it must not be written again.
    if (this.#sessions.get(clientId) !== session) return;
    await this.#options.store.save({
      ...progressOf(clientId, session),
      owner: session.owner.key,
      subscriptions: session.destination.subscriptions.all(),
    });
  }

  /**
   * A new session has nothing to lose yet: CONNACK does not wait for the store, so that a device can
   * connect while it is away. Its first subscription is stored, with all the rest, before SUBACK.
   */
  #inBackground(clientId: string, work: Promise<void>): void {
    work.catch((error: unknown) => {
      this.#options.log.warn({ err: error, clientId }, 'session not stored');
    });
  }

  #forget(clientId: string, session: Session): void {
    this.#sessions.delete(clientId);
    this.#progress.forget(clientId);
    this.#options.router.remove(session.destination);
  }
}

function progressOf(clientId: string, session: Session): SessionProgress {
  const { alarms, messages } = session.destination.cursors;
  return {
    clientId,
    cursors: { alarms: alarms.state, messages: messages.state },
    seenAtMs: session.destination.isConnected ? CONNECTED : session.seenAtMs,
  };
}
