import type { Logger } from 'pino';
import type { Principal } from '../domain/grants.js';
import { principalKey } from '../domain/grants.js';
import { isUuid } from '../domain/identifiers.js';
import { GatewayError } from '../errors.js';
import type { Actor, AuditSubject } from '../site/audit-trail.js';
import type { AuthenticationRefusals } from '../site/authentication-refusals.js';
import type { PermissionRefusals, RefusedPermission } from '../site/permission-refusals.js';

/** What a client was refused, in the words of MQTT. */
type RefusedOperation = 'connect' | 'subscribe' | 'publish' | 'will';

/** Who is at the other end of a connection. */
export interface Peer {
  readonly principal: Principal;
  readonly address: string;
  readonly clientId: string;
}

export interface RefusalReportOptions {
  readonly permissionRefusals: PermissionRefusals;
  readonly authenticationRefusals: AuthenticationRefusals;
  readonly log: Logger;
}

/** Puts what is refused over MQTT into the audit trail. */
export class RefusalReport {
  readonly #options: RefusalReportOptions;

  constructor(options: RefusalReportOptions) {
    this.#options = options;
  }

  /**
   * Resolves once it is written down: only then may the client be told.
   *
   * @param topic null where it is none that was refused
   * @throws GatewayError `store-unavailable`, `too-many-refusals`: the client is told nothing, and its
   *   connection ends
   */
  async permission(
    peer: Peer,
    operation: Exclude<RefusedOperation, 'subscribe'>,
    topic: string | null,
  ): Promise<void> {
    const { permissionRefusals } = this.#options;
    try {
      await permissionRefusals.record(actorOf(peer), [refusalOf(peer, operation, topic)]);
    } catch (error) {
      this.#logUnwritten(peer, operation, error);
      throw error;
    }
  }

  /**
   * Resolves once they are written down, however long the store takes: who has asked for one filter too
   * many goes on getting what the others bring him.
   *
   * @param filters the refused ones of a SUBSCRIBE
   * @param isOver whether the client has gone
   * @throws GatewayError as `permission`; `store-unavailable` only when the client has gone
   */
  async filters(peer: Peer, filters: readonly string[], isOver: () => boolean): Promise<void> {
    const refused = filters.map((filter) => refusalOf(peer, 'subscribe', filter));
    await this.#options.permissionRefusals.recordPatiently(actorOf(peer), refused, isOver);
  }

  /**
   * @param username shown in the audit trail only if it could be the id of a device or token: by
   *   mistake it may be a secret
   */
  authentication(address: string, clientId: string, username: string): void {
    const actor: Actor = { type: 'anonymous', id: null, address, requestId: null };
    const claimed = claimedId(username) ?? null;
    const details = { operation: 'connect', clientId, username: claimed };
    this.#options.authenticationRefusals.add(actor, details);
  }

  #logUnwritten({ principal, clientId }: Peer, operation: RefusedOperation, error: unknown): void {
    // Said by whoever counts them, once a minute.
    if (error instanceof GatewayError && error.code === 'too-many-refusals') return;
    const who = { clientId, principal: principalKey(principal), operation };
    this.#options.log.warn({ ...who, err: error }, 'refusal not written down: the connection ends');
  }
}

function actorOf({ principal, address }: Peer): Actor {
  const type = principal.type === 'device' ? 'device' : 'access-token';
  return { type, id: principal.id, address, requestId: null };
}

function refusalOf(
  { clientId }: Peer,
  operation: RefusedOperation,
  topic: string | null,
): RefusedPermission {
  return { subject: subjectOf(topic ?? ''), details: { operation, clientId, topic } };
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
