import type { Logger } from 'pino';
import { Destination } from './destination.js';
import { LogCursor } from './log-cursor.js';
import type { LogReader } from './log-entry.js';
import { ProgressKeeper } from './progress-keeper.js';
import type { Router } from './router.js';
import type { CursorPositions, SessionRecord, SessionStore } from './session-store.js';
import type { QoS, Subscription } from './subscriptions.js';
import { Subscriptions } from './subscriptions.js';

/** A filter as a client asks for it, its QoS already limited to what is granted. */
export interface RequestedSubscription {
  readonly filter: string;
  readonly qos: QoS;
}

interface Session {
  readonly owner: string;
  readonly isPersistent: boolean;
  readonly destination: Destination;
}

export interface SessionsOptions {
  readonly store: SessionStore;
  readonly reader: LogReader;
  readonly router: Router;
  readonly maxInFlight: number;
  readonly log: Logger;
  readonly now: () => number;
}

/** The sessions of MQTT clients, by client id: each a destination of forwarded messages. */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #progress: ProgressKeeper;
  readonly #sessions = new Map<string, Session>();

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#progress = new ProgressKeeper(options.store, options.log);
  }

  /** Takes up the persistent sessions where they stopped. */
  async start(): Promise<void> {
    for (const record of await this.#options.store.load()) this.#open(record, true);
  }

  async stop(): Promise<void> {
    await this.#progress.flush();
  }

  /** `principalKey` of the one to whom the session belongs, undefined when there is none. */
  ownerOf(clientId: string): string | undefined {
    return this.#sessions.get(clientId)?.owner;
  }

  get(clientId: string): Destination | undefined {
    return this.#sessions.get(clientId)?.destination;
  }

  /**
   * The session of a client that connects: its persistent one, or a new one. A clean session ends
   * with its connection (`closed`) and leaves nothing behind.
   */
  async open(clientId: string, owner: string, isPersistent: boolean): Promise<Destination> {
    const session = this.#sessions.get(clientId);
    if (session?.isPersistent === true && isPersistent) return session.destination;
    // Here at once, so that no other CONNECT comes between; the store follows in the same order.
    const discarded = this.discard(clientId);
    const cursors = this.#options.router.newest;
    const record = { clientId, owner, subscriptions: [], cursors };
    const destination = this.#open(record, isPersistent);
    try {
      await discarded;
      if (isPersistent) await this.#options.store.save(record);
    } catch (error) {
      this.closed(clientId, destination);
      throw error;
    }
    return destination;
  }

  /**
   * The client's connection is gone, and a clean session with it; unless another connection has
   * taken the client id over and has a session of its own [MQTT-3.1.4-2].
   */
  closed(clientId: string, destination: Destination): void {
    const session = this.#sessions.get(clientId);
    if (session?.destination !== destination || session.isPersistent) return;
    this.#forget(clientId, session);
  }

  /** Adds subscriptions; for a persistent session they are stored when this resolves. */
  async subscribe(clientId: string, requested: readonly RequestedSubscription[]): Promise<void> {
    const session = this.#sessions.get(clientId);
    if (session === undefined) return;
    const after = this.#options.router.newest;
    for (const { filter, qos } of requested) {
      session.destination.subscriptions.put({ filter, qos, after });
    }
    if (session.isPersistent) await this.#options.store.save(recordOf(clientId, session));
  }

  async unsubscribe(clientId: string, filters: readonly string[]): Promise<void> {
    const session = this.#sessions.get(clientId);
    if (session === undefined) return;
    for (const filter of filters) session.destination.subscriptions.remove(filter);
    if (session.isPersistent) await this.#options.store.save(recordOf(clientId, session));
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

  /** Ends all sessions of a principal whose credential is no longer valid. */
  async discardAllOf(owner: string): Promise<void> {
    const owned = [...this.#sessions].filter(([, session]) => session.owner === owner);
    await Promise.all(owned.map(([clientId]) => this.discard(clientId)));
  }

  #open(record: SessionRecord, isPersistent: boolean): Destination {
    const { clientId, owner, subscriptions, cursors } = record;
    const { router, maxInFlight, now, log } = this.#options;
    const destination: Destination = new Destination({
      cursors: this.#cursors(cursors),
      subscriptions: new Subscriptions(subscriptions),
      maxInFlight,
      now,
      onProgress: () => {
        if (isPersistent) this.#progress.moved(clientId, destination);
      },
      onReadFailure: (error) =>
        log.warn({ err: error, clientId }, 'backlog not read, trying again'),
    });
    this.#sessions.set(clientId, { owner, isPersistent, destination });
    router.add(destination);
    return destination;
  }

  #cursors(positions: CursorPositions): Record<'alarms' | 'messages', LogCursor> {
    const { router, reader } = this.#options;
    const { alarms, messages } = router.tails;
    return {
      alarms: new LogCursor('alarms', alarms, reader, positions.alarms),
      messages: new LogCursor('messages', messages, reader, positions.messages),
    };
  }

  #forget(clientId: string, session: Session): void {
    this.#sessions.delete(clientId);
    this.#progress.forget(clientId);
    this.#options.router.remove(session.destination);
  }
}

function recordOf(clientId: string, session: Session): SessionRecord {
  const { owner, destination } = session;
  return {
    clientId,
    owner,
    subscriptions: destination.subscriptions.list(),
    cursors: destination.settled,
  };
}
