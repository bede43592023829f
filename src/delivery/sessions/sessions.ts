import type { Logger } from 'pino';
import { Consumer, type ConsumerLimits, type HistorySource } from '../consumer.js';
import type { Router } from '../router.js';
import {
  CONNECTED,
  type ConsumingSession,
  isConsuming,
  PERSISTENT,
  Session,
  type SessionOwner,
  type SessionRecord,
  type SessionStart,
  type SessionStore,
  sessionKey,
} from './session.js';
import { isGroup, SubscriberGroups } from './subscriber-groups.js';
import { type Subscription, Subscriptions } from './subscriptions.js';

const LOOK_INTERVAL_MS = 5_000;

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
  readonly #byKey = new Map<string, Session>();
  readonly #byOwner = new Map<string, Set<Session>>();
  readonly #groups = new SubscriberGroups(this);
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /** Resumes the persistent sessions. Resolves to the keys of unreadable ones. */
  async start(): Promise<readonly string[]> {
    const { store, ownerOf, now } = this.#options;
    const { sessions, unreadable } = await store.load();
    for (const record of sessions) {
      const owner = ownerOf(record.owner);
      // A session that was connected when the gateway ended counts as away from now on.
      const seenAtMs = record.seenAtMs === CONNECTED ? now() : record.seenAtMs;
      // A store that takes no writes must not stop the gateway from starting (contract 4.7).
      if (owner === undefined) this.#inBackground(record.key, store.delete(record.key));
      else {
        const kept = isGroup(record) ? { ...owner, isKept: true } : owner;
        const session = this.#add({ ...record, seenAtMs }, kept, true);
        this.#consume(session, record.subscriptions);
        session.isSaved = true;
      }
    }
    this.#groups.start((key, joined) => this.#inBackground(key, joined));
    this.#timer = setInterval(() => this.#forgetUnused(), LOOK_INTERVAL_MS);
    return unreadable;
  }

  /** Settles acknowledged messages. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#options.router.services.settler.stop();
  }

  /**
   * Writes a session again whose record the store has lost, or whose keys were overwritten.
   *
   * @returns whether the session exists
   */
  async mend(key: string): Promise<boolean> {
    const session = this.#byKey.get(key);
    if (session?.isPersistent !== true || !isConsuming(session)) return false;
    const queued = await this.#options.store.mend(session.record());
    session.isSaved = true;
    session.consumer.mended(queued);
    // The set of all names may be lost too.
    this.saveAll();
    // A session that has ended meanwhile must not come back. Another stored one may have taken its place.
    if (this.#byKey.get(key)?.isPersistent !== true) await this.#options.store.delete(key);
    return true;
  }

  /** Stores every session again: the store has lost its newest writes. */
  saveAll(): void {
    for (const { key, save } of this.persistent()) this.#inBackground(key, save());
  }

  /** @param key `sessionKey` */
  get(key: string): Session | undefined {
    return this.#byKey.get(key);
  }

  /** @param owner `principalKey` */
  ofOwner(owner: string): readonly Session[] {
    return [...(this.#byOwner.get(owner) ?? [])];
  }

  get count(): number {
    return this.#byKey.size;
  }

  /** All sessions that have a consumer. */
  consuming(): ConsumingSession[] {
    return [...this.#byKey.values()].filter(isConsuming);
  }

  /** The sessions that outlive their connections. */
  persistent(): ConsumingSession[] {
    return this.consuming().filter(({ isPersistent }) => isPersistent);
  }

  /**
   * Opens a client's session: its persistent one, or a new one.
   *
   * A clean session ends with its connection (`closed`). Opening does not wait for the store, so a device can connect
   * while the store is away (contract 4.4). A SUBSCRIBE does wait, and is written after the session.
   */
  open(clientId: string, owner: SessionOwner, start: typeof PERSISTENT): ConsumingSession;
  open(clientId: string, owner: SessionOwner, start: SessionStart): Session;
  open(clientId: string, owner: SessionOwner, start: SessionStart): Session {
    const key = sessionKey(owner.key, clientId);
    const { isPersistent } = start;
    const expirySeconds = this.#limited(start.sessionExpirySeconds);
    const session = this.#byKey.get(key);
    if (session?.isPersistent === true && !start.isCleanStart && !this.#isOver(session)) {
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
    const seenAtMs = this.#options.now();
    const opened = this.#add({ key, clientId, seenAtMs, expirySeconds }, owner, isPersistent);
    if (start !== PERSISTENT) opened.openCount++;
    if (start.history !== undefined) this.#consume(opened, [], start.history);
    if (isPersistent) {
      // At once: the queue exists before anything is appended for it.
      const saved = this.#options.store.save(opened.record());
      this.#inBackground(key, saved);
      this.#consume(opened, [], undefined, saved);
    }
    return opened;
  }

  /** Changes how long the session outlives its connection. */
  setExpiry(changed: Session, seconds: number): void {
    const session = this.#byKey.get(changed.key);
    if (session === changed) this.#expireAfter(session, this.#limited(seconds));
  }

  /**
   * Ends a connection, and its session if that is clean.
   *
   * A connection that has taken over the client id has its own session, which stays
   * [MQTT-3.1.4-2].
   */
  closed(closed: Session): void {
    const session = this.#byKey.get(closed.key);
    if (session === undefined || session !== closed) return;
    session.seenAtMs = this.#options.now();
    session.openCount = Math.max(0, session.openCount - 1);
    if (!session.isPersistent) this.#forget(session);
    else if (session.expirySeconds === 0 && session.openCount === 0) this.discardLater(session.key);
    else this.#inBackground(session.key, session.save());
  }

  /** Adds subscriptions. For a persistent session they are stored when this resolves. */
  async subscribe(key: string, requested: readonly Subscription[]): Promise<void> {
    const session = this.#byKey.get(key);
    if (session === undefined || requested.length === 0) return;
    const consumer = this.#consumerOf(session);
    for (const subscription of requested) consumer.subscriptions.put(subscription);
    const joined = this.#groups.join(session.owner, consumer, requested);
    await Promise.all([this.#changed(session, consumer), joined]);
  }

  async unsubscribe(key: string, filters: readonly string[]): Promise<void> {
    const session = this.#byKey.get(key);
    if (session?.consumer === undefined) return;
    for (const filter of filters) session.consumer.subscriptions.remove(filter);
    this.#groups.leave(session.consumer, filters);
    await this.#changed(session, session.consumer);
  }

  /** Ends the session for good. The caller must close its connection, if any. */
  async discard(key: string): Promise<void> {
    const session = this.#byKey.get(key);
    if (session === undefined) return;
    this.#forget(session);
    if (session.isPersistent) await this.#options.store.delete(key);
  }

  discardLater(key: string): void {
    this.#inBackground(key, this.discard(key));
  }

  /** Ends all sessions of a deleted principal. */
  async discardAllOf(owner: string): Promise<void> {
    await Promise.all(this.ofOwner(owner).map(({ key }) => this.discard(key)));
  }

  /** Stores it also where it stays the same: a crash must not count the time for which the session is connected. */
  #expireAfter(session: Session, expirySeconds: number | undefined): void {
    session.expirySeconds = expirySeconds;
    this.#inBackground(session.key, session.save());
  }

  #add(
    record: Pick<SessionRecord, 'key' | 'clientId' | 'seenAtMs' | 'expirySeconds'>,
    owner: SessionOwner,
    isPersistent: boolean,
  ): Session {
    const session = new Session(record, owner, isPersistent, (changed) => this.#save(changed));
    this.#byKey.set(session.key, session);
    const ofOwner = this.#byOwner.get(owner.key) ?? new Set();
    this.#byOwner.set(owner.key, ofOwner.add(session));
    return session;
  }

  async #save(session: Session): Promise<void> {
    // A discarded session must not be written again.
    if (this.#byKey.get(session.key) !== session) return;
    // Set before the answer: later changes belong to the next save.
    session.isSaved = true;
    try {
      await this.#options.store.save(session.record());
    } catch (error) {
      session.isSaved = false;
      throw error;
    }
  }

  /**
   * Writes without waiting for the store, and logs a failure.
   *
   * A new session has nothing to lose yet: CONNACK does not wait for the store, so a device can connect while the store
   * is away. The first subscription is stored with the whole session, before SUBACK.
   */
  #inBackground(key: string, work: Promise<void>): void {
    work.catch((error: unknown) => {
      this.#options.log.warn({ err: error, session: key }, 'failed to store a session');
    });
  }

  /** The session's consumer, created on the first call: it takes more memory than its connection. */
  #consumerOf(session: Session): Consumer {
    return session.consumer ?? this.#consume(session, []);
  }

  /** Gives the session its consumer. */
  #consume(
    session: Session,
    subscriptions: readonly Subscription[],
    history?: HistorySource,
    begun?: Promise<void>,
  ): Consumer {
    const { router, limits, log } = this.#options;
    const { key, clientId: name, owner } = session;
    const consumer = new Consumer({
      name,
      session: key,
      key: session.isPersistent ? key : undefined,
      // `#inBackground` logs the failure.
      begun: begun?.catch(() => undefined),
      history,
      services: router.services,
      subscriptions: new Subscriptions(subscriptions),
      mayReceive: owner.mayReceive,
      limits: owner.limits ?? limits,
      onConnection: () => this.#groups.connectionChanged(consumer),
      onReadFailure: (err) => log.warn({ err, session: key }, 'failed to read a backlog, retrying'),
      onSendFailure: (err) =>
        log.error({ err, session: key }, 'failed to write a message, left out'),
    });
    session.consumer = consumer;
    router.add(consumer);
    return consumer;
  }

  /** Applies changed subscriptions. For a persistent session they are stored when this resolves. */
  async #changed(session: Session, consumer: Consumer): Promise<void> {
    this.#options.router.routes.set(consumer, () => consumer.subscriptions.list());
    session.isSaved = false;
    await session.save();
  }

  #forget(session: Session): void {
    this.#byKey.delete(session.key);
    const ofOwner = this.#byOwner.get(session.owner.key);
    ofOwner?.delete(session);
    if (ofOwner?.size === 0) this.#byOwner.delete(session.owner.key);
    this.#groups.forget(session);
    if (session.consumer !== undefined) this.#options.router.remove(session.consumer);
  }

  /** Whether the session has been away longer than it may (contract 5). */
  #isOver({ consumer, isInUse, seenAtMs, expirySeconds }: Session): boolean {
    const { now, forgetAfterMs } = this.#options;
    // A clean session without a consumer ends with its connection.
    if (isInUse || consumer === undefined) return false;
    const afterMs = expirySeconds === undefined ? forgetAfterMs : expirySeconds * 1_000;
    return seenAtMs < now() - afterMs;
  }

  /** The time a client asks for, limited to what any session may be away. */
  #limited(expirySeconds: number | undefined): number | undefined {
    const maxSeconds = Math.floor(this.#options.forgetAfterMs / 1_000);
    return expirySeconds === undefined ? undefined : Math.min(expirySeconds, maxSeconds);
  }

  #forgetUnused(): void {
    for (const session of this.#byKey.values()) {
      if (!this.#isOver(session)) continue;
      const { log } = this.#options;
      const { key, clientId, owner, expirySeconds } = session;
      const which = { session: key, principal: owner.key, clientId };
      if (expirySeconds === undefined) log.warn(which, 'session forgotten: away for too long');
      else log.info({ ...which, expirySeconds }, 'session ended: away for as long as it asked for');
      this.discardLater(key);
    }
  }
}
