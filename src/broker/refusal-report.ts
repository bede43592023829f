import type { Logger } from 'pino';
import type { Principal } from '../domain/grants.js';
import { principalKey } from '../domain/grants.js';
import { isUuid } from '../domain/identifiers.js';
import { GatewayError } from '../errors.js';
import type { Actor, AuditSubject } from '../site/audit-trail.js';
import type { AuthenticationRefusals } from '../site/authentication-refusals.js';
import type { PermissionRefusals } from '../site/permission-refusals.js';

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
   * Resolves once they are written down: only then may the client be told.
   *
   * @param topics the topics or filters of one packet, null where it is none that was refused
   * @throws GatewayError `store-unavailable`, `too-many-refusals`: the client is told nothing, and its
   *   connection ends
   */
  async permission(
    peer: Peer,
    operation: RefusedOperation,
    topics: readonly (string | null)[],
  ): Promise<void> {
    const { principal, address, clientId } = peer;
    const type = principal.type === 'device' ? 'device' : 'access-token';
    const actor: Actor = { type, id: principal.id, address, requestId: null };
    const refused = topics.map((topic) => {
      return { subject: subjectOf(topic ?? ''), details: { operation, clientId, topic } };
    });
    try {
      await this.#options.permissionRefusals.record(actor, refused);
    } catch (error) {
      this.#logUnwritten(peer, operation, error);
      throw error;
    }
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
