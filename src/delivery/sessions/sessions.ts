import type { Logger } from 'pino';
import { Consumer, type ConsumerLimits, type HistorySource } from '../consumer.js';
import type { Router } from '../router.js';
import {
  type ConsumingSession,
  isConsuming,
  PERSISTENT,
  type Session,
  type SessionOwner,
  type SessionStart,
  sessionKey,
} from './session.js';
import { SessionExpiry } from './session-limits.js';
import type { SessionRecord, SessionStore } from './session-saving.js';
import {
  CONNECTED,
  type KeptSession,
  newSession,
  recordOf,
  SessionSaving,
  SharedTurn,
} from './session-saving.js';
import { isGroup, SubscriberGroups } from './subscriber-groups.js';
import { type Subscription, Subscriptions } from './subscriptions.js';

export interface SessionsOptions {
  readonly store: SessionStore;
  readonly router: Router;
  /** The owner of a stored session, by `principalKey`; undefined if the principal is gone. */
  readonly ownerOf: (key: string) => SessionOwner | undefined;
  readonly limits: ConsumerLimits;
  readonly forgetAfterMs: number;
  readonly log: Logger;
  /** The steady clock. */
  readonly now: () => number;
}

/** The sessions of MQTT clients and bridges, with their consumers of forwarded messages. */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #sessions = new SessionIndex<KeptSession>();
  readonly #saving: SessionSaving;
  readonly #expiry: SessionExpiry;
  readonly #groups = new SubscriberGroups(this);

  constructor(options: SessionsOptions) {
    this.#options = options;
    const { store, log } = options;
    const isKept = (session: KeptSession) => this.#sessions.has(session);
    this.#saving = new SessionSaving({ store, log, isKept });
    this.#expiry = new SessionExpiry({
      ...options,
      sessions: () => this.#sessions.all(),
      discard: (key) => this.discard(key),
    });
  }

  /** Resumes the persistent sessions. Resolves to the keys of unreadable ones. */
  async start(): Promise<readonly string[]> {
    const { store, ownerOf, now } = this.#options;
    const { sessions, unreadable } = await store.load();
    for (const record of sessions) {
      const owner = ownerOf(record.owner);
      // A session that was connected when the gateway ended counts as away from now on.
      const seenAtMs = record.seenAtMs === CONNECTED ? now() : record.seenAtMs;
      // A store that takes no writes must not stop the gateway from starting (docs/reference/contract.md, 4.7).
      if (owner === undefined) this.#saving.inBackground(record.key, store.delete(record.key));
      else {
        const kept = isGroup(record) ? { ...owner, isKept: true } : owner;
        const session = this.#add({ ...record, seenAtMs }, kept, true);
        this.#consume(session, record.subscriptions);
        session.isSaved = true;
      }
    }
    this.#groups.start((key, joined) => this.#saving.inBackground(key, joined));
    this.#expiry.start();
    return unreadable;
  }

  /** Settles acknowledged messages. */
  async stop(): Promise<void> {
    this.#expiry.stop();
    await this.#options.router.services.settler.stop();
  }

  /**
   * Writes a session again whose record the store has lost, or whose keys were overwritten.
   *
   * @returns whether the session exists
   */
  async mend(key: string): Promise<boolean> {
    const session = this.#sessions.get(key);
    if (session?.isPersistent !== true || !isConsuming(session)) return false;
    const queued = await this.#options.store.mend(recordOf(session));
    session.isSaved = true;
    session.consumer.mended(queued);
    // The set of all names may be lost too.
    this.saveAll();
    // A session that has ended meanwhile must not come back. Another stored one may have taken its place.
    if (this.#sessions.get(key)?.isPersistent !== true) await this.#options.store.delete(key);
    return true;
  }

  /** Stores every session again: the store has lost its newest writes. */
  saveAll(): void {
    for (const { key, saving } of this.consuming()) {
      if (saving !== undefined) this.#saving.inBackground(key, saving.take());
    }
  }

  /** @param key `sessionKey` */
  get(key: string): Session | undefined {
    return this.#sessions.get(key);
  }

  /** @param owner `principalKey` */
  ofOwner(owner: string): readonly Session[] {
    return this.#sessions.ofOwner(owner);
  }

  get count(): number {
    return this.#sessions.size;
  }

  /** All sessions that have a consumer. */
  consuming(): (KeptSession & ConsumingSession)[] {
    return [...this.#sessions.all()].filter(isConsuming);
  }

  /** The sessions that outlive their connections. */
  persistent(): ConsumingSession[] {
    return this.consuming().filter(({ isPersistent }) => isPersistent);
  }

  /**
   * Opens a client's session: its persistent one, or a new one.
   *
   * A clean session ends with its connection (`closed`). Opening does not wait for the store, so a device can connect
   * while the store is away (docs/reference/contract.md, 4.4). A SUBSCRIBE does wait, and is written after the session.
   */
  open(clientId: string, owner: SessionOwner, start: typeof PERSISTENT): ConsumingSession;
  open(clientId: string, owner: SessionOwner, start: SessionStart): Session;
  open(clientId: string, owner: SessionOwner, start: SessionStart): Session {
    const key = sessionKey(owner.key, clientId);
    const { isPersistent } = start;
    const expirySeconds = this.#expiry.limited(start.sessionExpirySeconds);
    const session = this.#sessions.get(key);
    if (session?.isPersistent === true && !start.isCleanStart && !this.#expiry.isOver(session)) {
      // Its time away counts from now on.
      if (session.owner.isKept === true) session.seenAtMs = this.#options.now();
      session.owner = owner;
      this.#consumerOf(session).limits = owner.limits ?? this.#options.limits;
      session.isResumed = true;
      if (start !== PERSISTENT) session.openCount++;
      this.#expireAfter(session, expirySeconds);
      return session;
    }
    if (session !== undefined) this.discardLater(key);
    const { now, store } = this.#options;
    const seenAtMs = now();
    const opened = this.#add({ key, clientId, seenAtMs, expirySeconds }, owner, isPersistent);
    if (start !== PERSISTENT) opened.openCount++;
    if (start.history !== undefined) this.#consume(opened, [], start.history);
    if (isPersistent) {
      this.#consume(opened, []);
      if (isConsuming(opened)) this.#saving.inBackground(key, store.save(recordOf(opened)));
    }
    return opened;
  }

  /** Changes how long the session outlives its connection. */
  setExpiry(changed: Session, seconds: number): void {
    const session = this.#sessions.get(changed.key);
    if (session === changed) this.#expireAfter(session, this.#expiry.limited(seconds));
  }

  /**
   * Ends a connection, and its session if that is clean.
   *
   * A connection that has taken over the client id has its own session, which stays
   * [MQTT-3.1.4-2].
   */
  closed(closed: Session): void {
    const session = this.#sessions.get(closed.key);
    if (session === undefined || session !== closed) return;
    session.seenAtMs = this.#options.now();
    session.openCount = Math.max(0, session.openCount - 1);
    if (!session.isPersistent) this.#forget(session);
    else if (session.expirySeconds === 0 && session.openCount === 0) this.discardLater(session.key);
    else if (session.saving !== undefined)
      this.#saving.inBackground(session.key, session.saving.take());
  }

  /** Adds subscriptions. For a persistent session they are stored when this resolves. */
  async subscribe(key: string, requested: readonly Subscription[]): Promise<void> {
    const session = this.#sessions.get(key);
    if (session === undefined || requested.length === 0) return;
    const consumer = this.#consumerOf(session);
    for (const subscription of requested) consumer.subscriptions.put(subscription);
    const joined = this.#groups.join(session.owner, consumer, requested);
    await Promise.all([this.#changed(session, consumer), joined]);
  }

  async unsubscribe(key: string, filters: readonly string[]): Promise<void> {
    const session = this.#sessions.get(key);
    if (session?.consumer === undefined) return;
    for (const filter of filters) session.consumer.subscriptions.remove(filter);
    this.#groups.leave(session.consumer, filters);
    await this.#changed(session, session.consumer);
  }

  /** Ends the session for good. The caller must close its connection, if any. */
  async discard(key: string): Promise<void> {
    const session = this.#sessions.get(key);
    if (session === undefined) return;
    this.#forget(session);
    if (session.isPersistent) await this.#options.store.delete(key);
  }

  discardLater(key: string): void {
    this.#saving.inBackground(key, this.discard(key));
  }

  /** Ends all sessions of a deleted principal. */
  async discardAllOf(owner: string): Promise<void> {
    await Promise.all(this.#sessions.ofOwner(owner).map(({ key }) => this.discard(key)));
  }

  /** Stores it also where it stays the same: a crash must not count the time for which the session is connected. */
  #expireAfter(session: KeptSession, expirySeconds: number | undefined): void {
    session.expirySeconds = expirySeconds;
    if (session.saving !== undefined) this.#saving.inBackground(session.key, session.saving.take());
  }

  #add(
    record: Pick<SessionRecord, 'key' | 'clientId' | 'seenAtMs' | 'expirySeconds'>,
    owner: SessionOwner,
    isPersistent: boolean,
  ): KeptSession {
    const session = newSession(record, owner, isPersistent);
    if (isPersistent) session.saving = new SharedTurn(() => this.#saving.save(session));
    this.#sessions.add(session);
    return session;
  }

  /** The session's consumer, created on the first call: it takes more memory than its connection. */
  #consumerOf(session: KeptSession): Consumer {
    return session.consumer ?? this.#consume(session, []);
  }

  /** Gives the session its consumer. */
  #consume(
    session: KeptSession,
    subscriptions: readonly Subscription[],
    history?: HistorySource,
  ): Consumer {
    const { router, limits, log } = this.#options;
    const { key, clientId: name, owner } = session;
    const consumer = new Consumer({
      name,
      session: key,
      key: session.isPersistent ? key : undefined,
      history,
      services: router.services,
      subscriptions: new Subscriptions(subscriptions),
      mayReceive: owner.mayReceive,
      limits: owner.limits ?? limits,
      onConnection: () => this.#groups.connectionChanged(consumer),
      onReadFailure: (err) => log.warn({ err, session: key }, 'failed to read a backlog, retrying'),
    });
    session.consumer = consumer;
    router.add(consumer);
    return consumer;
  }

  /** Applies changed subscriptions. For a persistent session they are stored when this resolves. */
  async #changed(session: KeptSession, consumer: Consumer): Promise<void> {
    this.#options.router.routes.set(consumer, () => consumer.subscriptions.list());
    session.isSaved = false;
    await session.saving?.take();
  }

  #forget(session: KeptSession): void {
    this.#sessions.remove(session);
    this.#groups.forget(session);
    if (session.consumer !== undefined) this.#options.router.remove(session.consumer);
  }
}

/** All sessions by key and by owner. */
export class SessionIndex<S extends Session> {
  readonly #byKey = new Map<string, S>();
  readonly #byOwner = new Map<string, Set<S>>();

  get size(): number {
    return this.#byKey.size;
  }

  add(session: S): void {
    this.#byKey.set(session.key, session);
    addTo(this.#byOwner, session.owner.key, session);
  }

  remove(session: S): void {
    if (!this.has(session)) return;
    this.#byKey.delete(session.key);
    removeFrom(this.#byOwner, session.owner.key, session);
  }

  get(key: string): S | undefined {
    return this.#byKey.get(key);
  }

  /** Whether this is the current session of its key. */
  has(session: S): boolean {
    return this.#byKey.get(session.key) === session;
  }

  all(): Iterable<S> {
    return this.#byKey.values();
  }

  /** @param owner `principalKey` */
  ofOwner(owner: string): readonly S[] {
    return [...(this.#byOwner.get(owner) ?? [])];
  }
}

function addTo<S>(index: Map<string, Set<S>>, key: string, session: S): void {
  const sessions = index.get(key) ?? new Set();
  index.set(key, sessions.add(session));
}

function removeFrom<S>(index: Map<string, Set<S>>, key: string, session: S): void {
  const sessions = index.get(key);
  sessions?.delete(session);
  if (sessions?.size === 0) index.delete(key);
}
