import type { Session } from '../delivery/session.js';
import type { Sessions } from '../delivery/sessions.js';
import { type Principal, principalKey, touchesLocation } from '../domain/grants.js';
import type { Principals } from '../site/principals.js';
import type { SiteModel } from '../site/site-model.js';

/** Client ids remembered of each principal: a client with a new one each time pushes out its own only. */
const MAX_REMEMBERED = 16;

export interface ClientIdsOptions {
  readonly sessions: Pick<Sessions, 'withClientId'>;
  readonly principals: Principals;
  readonly model: SiteModel;
}

/**
 * Decides which principal may use which client id.
 *
 * Client ids are a name space of each principal, so that none can take another's session (FINDINGS S8). All
 * the same, one that is in use in the same location is most often a mistake in the setup of a new client,
 * and is refused (CONTRACT 3). A principal that has used the client id before is never locked out.
 */
export class ClientIds {
  readonly #options: ClientIdsOptions;
  /**
   * Client ids used since the start, by `principalKey`, the newest last.
   *
   * Not stored: after a restart only persistent sessions keep their client ids; all others are free.
   */
  readonly #used = new Map<string, Set<string>>();

  constructor(options: ClientIdsOptions) {
    this.#options = options;
  }

  /** Whether the session with this client id of another principal keeps this one from using it. */
  isTaken(clientId: string, principal: Principal): boolean {
    const owner = principalKey(principal);
    const sessions = this.#options.sessions.withClientId(clientId);
    const isOwn =
      clientId.toLowerCase().startsWith(principal.id) ||
      this.#used.get(owner)?.has(clientId) === true ||
      sessions.some((session) => session.owner.key === owner);
    return !isOwn && sessions.some((session) => this.#keepsOut(session, principal));
  }

  /** Remembers that the principal uses the client id. */
  note(clientId: string, owner: string): void {
    const used = this.#used.get(owner) ?? new Set();
    this.#used.set(owner, used);
    used.delete(clientId);
    used.add(clientId);
    const [oldest] = used;
    if (used.size > MAX_REMEMBERED && oldest !== undefined) used.delete(oldest);
  }

  /** Forgets a principal (`principalKey`) that is gone. */
  forget(owner: string): void {
    this.#used.delete(owner);
  }

  /** A sensor never keeps out a subscriber, nor does a credential that has ended. */
  #keepsOut({ owner }: Session, principal: Principal): boolean {
    const holder = this.#options.principals.validByKey(owner.key);
    if (holder === undefined) return false;
    if (holder.type === 'device' && principal.type === 'token') return false;
    return this.#haveSameLocation(holder, principal);
  }

  #haveSameLocation(one: Principal, other: Principal): boolean {
    if (one.type === 'device') {
      const locationId = this.#options.model.device(one.id)?.locationId;
      return locationId !== undefined && this.#isIn(other, locationId);
    }
    return one.grants.some(({ location }) => location === '*' || this.#isIn(other, location));
  }

  #isIn(principal: Principal, locationId: string): boolean {
    return principal.type === 'device'
      ? this.#options.model.device(principal.id)?.locationId === locationId
      : touchesLocation(principal.grants, locationId);
  }
}
