import type { Logger } from 'pino';
import { type Principal, principalKey } from '../domain/grants.js';
import { isUuid } from '../domain/notation.js';
import type { Actor, AuditSubject } from '../site/audit-trail.js';
import type { Denials } from '../site/denials.js';

/** The operation that was denied, in the words of MQTT. */
type DeniedOperation = 'connect' | 'subscribe' | 'publish' | 'will';

/** Who is at the other end of a connection. */
export interface Peer {
  readonly principal: Principal;
  readonly address: string;
  readonly clientId: string;
}

/** Puts what is denied over MQTT into the audit trail, in the background (CONTRACT 2, audit). */
export class ConnectionDenials {
  readonly #denials: Denials;
  readonly #log: Logger;

  constructor(denials: Denials, log: Logger) {
    this.#denials = denials;
    this.#log = log;
  }

  /**
   * Records a permission that a client lacks.
   *
   * @param topic null where it is none that was denied
   */
  record(
    peer: Peer,
    operation: Exclude<DeniedOperation, 'subscribe'>,
    topic: string | null,
    reason: string,
  ): void {
    const { clientId, principal } = peer;
    const who = { clientId, principal: principalKey(principal) };
    this.#log.info({ ...who, operation, topic, reason }, 'permission denied');
    this.#record(peer, operation, topic);
  }

  /** Records the denied filters of a SUBSCRIBE. */
  recordFilters(peer: Peer, filters: readonly string[]): void {
    for (const filter of filters) this.#record(peer, 'subscribe', filter);
  }

  /**
   * Records a failed login.
   *
   * @param username shown in the audit trail only if it could be the id of a device or token: by
   *   mistake it may be a secret
   */
  authentication(address: string, clientId: string, username: string): void {
    const actor: Actor = { type: 'anonymous', id: null, address, requestId: null };
    const claimed = claimedId(username) ?? null;
    const details = { operation: 'connect', clientId, username: claimed };
    this.#denials.addFailedLogin(actor, details);
  }

  #record(peer: Peer, operation: DeniedOperation, topic: string | null): void {
    const details = { operation, clientId: peer.clientId, topic };
    this.#denials.addDeniedPermission(actorOf(peer), subjectOf(topic ?? ''), details);
  }
}

function actorOf({ principal, address }: Peer): Actor {
  const type = principal.type === 'device' ? 'device' : 'access-token';
  return { type, id: principal.id, address, requestId: null };
}

/** The user name, if it can be the id of a device or token: anything else may be a mistyped secret. */
export function claimedId(username: string | undefined): string | undefined {
  const id = username?.toLowerCase();
  return id !== undefined && (isUuid(id) || id === 'admin') ? id : undefined;
}

function subjectOf(topic: string): AuditSubject {
  const [first, second, third, fourth] = topic.split('/');
  if (first === 'devices') return { locationId: null, resourceId: idOrNull(second) };
  if (first !== 'care-homes') return { locationId: null, resourceId: null };
  return {
    locationId: idOrNull(second),
    resourceId: third === 'devices' ? idOrNull(fourth) : null,
  };
}

function idOrNull(text: string | undefined): string | null {
  return text !== undefined && isUuid(text) ? text.toLowerCase() : null;
}
