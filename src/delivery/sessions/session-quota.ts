import { type Principal, principalKey } from '../../domain/grants.js';
import type { ConnectionQuotas } from '../../domain/limits.js';
import type { QuotaWatch } from '../../site/access/quota-watch.js';
import type { Session } from './session.js';
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
