/** How many sessions a principal may have, and what the list of them shows. */
import { type Principal, principalKey } from '../../domain/grants.js';
import type { QuotasOfAll } from '../../domain/limits.js';
import { formatTime } from '../../domain/time.js';
import type { QuotaWatch } from '../../site/access/quota-watch.js';
import { OldestQueued } from '../accounts.js';
import type { Consumer } from '../consumer.js';
import type { ConsumingSession, Session } from './session.js';
import type { Sessions } from './sessions.js';

const TOKEN_PREFIX = principalKey({ type: 'token', id: '', grants: [] });

export interface SessionQuotaOptions {
  readonly sessions: Pick<Sessions, 'ofOwner' | 'consuming'>;
  readonly quotas: QuotasOfAll;
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
    const { sessions, quotas, maxOfTokens, watch } = this.#options;
    const owner = principalKey(principal);
    const own = sessions.ofOwner(owner).filter(({ isPersistent }) => isPersistent).length;
    const hasRoom =
      own + opening < quotas[principal.type].persistentSessions &&
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

/** A persistent session of a device or an access token, connected or away. */
export interface SessionView {
  readonly clientId: string;
  readonly principal: { readonly type: 'access-token' | 'device'; readonly id: string };
  readonly connected: boolean;
  /** When it was last connected; null while it is. */
  readonly awaySince: string | null;
  /** Accepted for it, but not yet acknowledged. */
  readonly backlog: { readonly alarms: number; readonly messages: number };
  /** When the oldest of its backlog was received; null for none, or while the store is away. */
  readonly oldestQueuedAt: string | null;
}

export interface SessionPage {
  /** How many persistent sessions there are. */
  readonly total: number;
  readonly sessions: SessionView[];
}

/** The persistent sessions of devices and access tokens. The bridges list their own queues. */
export class SessionBacklogs {
  readonly #sessions: Pick<Sessions, 'persistent'>;
  /** One read of the store at a time per consumer, however many callers ask. */
  readonly #oldest = new WeakMap<Consumer, OldestQueued>();

  constructor(sessions: Pick<Sessions, 'persistent'>) {
    this.#sessions = sessions;
  }

  /** The largest backlogs first, alarms before messages; then the sessions away for the longest. */
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
        const awaySince = connected ? null : formatTime(seenAtMs);
        const oldestMs = await this.#oldestOf(consumer).receivedAtMs();
        const oldestQueuedAt = typeof oldestMs === 'number' ? formatTime(oldestMs) : null;
        return { clientId, principal, connected, awaySince, backlog, oldestQueuedAt };
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
