/** How many sessions a principal may have, how long they outlive their connections, and what the list of them shows. */
import type { Logger } from 'pino';
import { type Principal, principalKey } from '../../domain/grants.js';
import type { ConnectionQuotas } from '../../domain/limits.js';
import type { QuotaWatch } from '../../site/access/quota-watch.js';
import type { SessionList, SessionPage, SessionView } from '../../site/access/session-list.js';
import { OldestQueued } from '../accounts.js';
import type { Consumer } from '../consumer.js';
import type { ConsumingSession, Session } from './session.js';
import type { KeptSession } from './session-saving.js';
import type { Sessions } from './sessions.js';

const TOKEN_PREFIX = principalKey({ type: 'token', id: '', grants: [] });

export interface SessionQuotaOptions {
  readonly sessions: Pick<Sessions, 'ofOwner' | 'consuming'>;
  readonly quotasOf: (principal: Principal) => ConnectionQuotas;
  /** How many persistent sessions all access tokens may have together. */
  readonly maxOfTokens: number;
  readonly watch: QuotaWatch;
}

/** Bounds persistent sessions: each alarm is queued for every subscribed one. */
export class SessionQuota {
  readonly #options: SessionQuotaOptions;

  constructor(options: SessionQuotaOptions) {
    this.#options = options;
  }

  /** Whether the principal may have one more session, besides its own and this many being opened. */
  hasRoom(principal: Principal, opening = 0): boolean {
    const { sessions, quotasOf, maxOfTokens, watch } = this.#options;
    const owner = principalKey(principal);
    const own = sessions.ofOwner(owner).filter(({ isPersistent }) => isPersistent).length;
    const hasRoom =
      own + opening < quotasOf(principal).persistentSessions &&
      (principal.type === 'device' || this.#ofTokens() + opening < maxOfTokens);
    if (!hasRoom) watch.exceeded('persistent-sessions', owner);
    return hasRoom;
  }

  #ofTokens(): number {
    const isOfToken = ({ isPersistent, owner }: Session) =>
      isPersistent && owner.key.startsWith(TOKEN_PREFIX);
    return this.#options.sessions.consuming().filter(isOfToken).length;
  }
}

/**
 * Chooses an absent session to make room for a new one of the same owner.
 *
 * It chooses the longest absent session that has neither a subscription nor a backlog. A nurse-call system
 * loses no other session: the gateway promises to keep its backlog. A device without such a session loses
 * its longest absent one: sessions of its former client ids must not keep it from sending alarms.
 *
 * @param absent the owner's unused sessions
 */
export function sessionToReplace(
  absent: readonly Session[],
  isDevice: boolean,
): Session | undefined {
  const byAbsence = absent.toSorted((one, other) => one.seenAtMs - other.seenAtMs);
  return byAbsence.find(holdsNothing) ?? (isDevice ? byAbsence[0] : undefined);
}

function holdsNothing({ consumer }: Session): boolean {
  if (consumer === undefined) return true;
  const { subscriptions, queued } = consumer;
  return subscriptions.size + queued.alarms + queued.messages === 0;
}

const LOOK_INTERVAL_MS = 5_000;

export interface SessionExpiryOptions {
  readonly sessions: () => Iterable<KeptSession>;
  /** Ends a session for good. */
  readonly discard: (key: string) => Promise<void>;
  /** How long any session may be away. */
  readonly forgetAfterMs: number;
  readonly log: Logger;
  /** The steady clock. */
  readonly now: () => number;
}

/** Forgets sessions that were away too long, with their backlogs (docs/reference/contract.md, 5). */
export class SessionExpiry {
  readonly #options: SessionExpiryOptions;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SessionExpiryOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => this.#forgetUnused(), LOOK_INTERVAL_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Whether the session has been away longer than it may. */
  isOver({ owner, consumer, seenAtMs, expirySeconds, openCount }: KeptSession): boolean {
    const { now, forgetAfterMs } = this.#options;
    // A clean session without a consumer ends with its connection.
    const isInUse = openCount > 0 || consumer?.isConnected !== false;
    if (owner.isKept === true || isInUse) return false;
    const afterMs = expirySeconds === undefined ? forgetAfterMs : expirySeconds * 1_000;
    return seenAtMs < now() - afterMs;
  }

  /** The time a client asks for, limited to what any session may be away. */
  limited(expirySeconds: number | undefined): number | undefined {
    const maxSeconds = Math.floor(this.#options.forgetAfterMs / 1_000);
    return expirySeconds === undefined ? undefined : Math.min(expirySeconds, maxSeconds);
  }

  #forgetUnused(): void {
    const { sessions, discard, log } = this.#options;
    for (const session of sessions()) {
      if (!this.isOver(session)) continue;
      const { key, clientId, owner, expirySeconds } = session;
      const principal = owner.key;
      if (expirySeconds === undefined) {
        log.warn({ session: key, principal, clientId }, 'session forgotten: away for too long');
      } else {
        log.info(
          { session: key, principal, clientId, expirySeconds },
          'session ended: away for as long as it asked for',
        );
      }
      discard(key).catch((error: unknown) => {
        log.warn({ session: key, err: error }, 'failed to delete a forgotten session');
      });
    }
  }
}

/** The persistent sessions of devices and access tokens. The bridges list their own queues. */
export class SessionBacklogs implements SessionList {
  readonly #sessions: Pick<Sessions, 'persistent'>;
  /** One read of the store at a time per consumer, however many callers ask. */
  readonly #oldest = new WeakMap<Consumer, OldestQueued>();

  constructor(sessions: Pick<Sessions, 'persistent'>) {
    this.#sessions = sessions;
  }

  async withLargestBacklogs(limit: number): Promise<SessionPage> {
    const all = this.#sessions.persistent().flatMap((session) => {
      const principal = principalOf(session.owner.key);
      return principal === undefined ? [] : [{ session, principal, backlog: backlogOf(session) }];
    });
    all.sort(
      (one, other) =>
        other.backlog.alarms - one.backlog.alarms ||
        other.backlog.messages - one.backlog.messages ||
        Number(one.session.consumer.isConnected) - Number(other.session.consumer.isConnected) ||
        one.session.seenAtMs - other.session.seenAtMs,
    );
    const sessions = await Promise.all(
      all.slice(0, limit).map(async ({ session, principal, backlog }): Promise<SessionView> => {
        const { clientId, consumer, seenAtMs } = session;
        const connected = consumer.isConnected;
        const awaySinceMs = connected ? null : seenAtMs;
        const oldestQueuedAtMs = (await this.#oldestOf(consumer).receivedAtMs()) ?? null;
        return { clientId, principal, connected, awaySinceMs, backlog, oldestQueuedAtMs };
      }),
    );
    return { total: all.length, sessions };
  }

  #oldestOf(consumer: Consumer): OldestQueued {
    const known = this.#oldest.get(consumer) ?? new OldestQueued(consumer);
    this.#oldest.set(consumer, known);
    return known;
  }
}

function backlogOf({ consumer: { queued } }: ConsumingSession): SessionView['backlog'] {
  return { alarms: queued.alarms, messages: queued.messages };
}

/** @param owner `principalKey`, or the key of a bridge or webhook */
function principalOf(owner: string): SessionView['principal'] | undefined {
  const [type, id = ''] = owner.split(':');
  if (type === 'device') return { type, id };
  return type === 'token' ? { type: 'access-token', id } : undefined;
}
