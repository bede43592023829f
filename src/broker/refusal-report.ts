import type { Principal } from '../domain/grants.js';
import { isUuid } from '../domain/identifiers.js';
import type { Actor, AuditSubject } from '../site/audit-trail.js';
import type { Refusals } from '../site/refusals.js';

/** What a client was refused, in the words of MQTT. */
type RefusedOperation = 'connect' | 'subscribe' | 'publish' | 'will';

/** Who is at the other end of a connection. */
export interface Peer {
  readonly principal: Principal;
  readonly address: string;
  readonly clientId: string;
}

/** Puts what is refused over MQTT into the audit trail. */
export class RefusalReport {
  readonly #refusals: Refusals;

  constructor(refusals: Refusals) {
    this.#refusals = refusals;
  }

  /** @param topic the topic or filter, null where it is none that was refused */
  permission(peer: Peer, operation: RefusedOperation, topic: string | null): void {
    const { principal, address, clientId } = peer;
    const type = principal.type === 'device' ? 'device' : 'access-token';
    const actor: Actor = { type, id: principal.id, address, requestId: null };
    const subject = subjectOf(topic ?? '');
    this.#refusals.permission(actor, subject, { operation, clientId, topic });
  }

  /**
   * @param username shown in the audit trail only if it could be the id of a device or token: by
   *   mistake it may be a secret
   */
  authentication(address: string, clientId: string, username: string): void {
    const actor: Actor = { type: 'anonymous', id: null, address, requestId: null };
    const claimed = claimedId(username) ?? null;
    this.#refusals.authentication(actor, { operation: 'connect', clientId, username: claimed });
  }
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
