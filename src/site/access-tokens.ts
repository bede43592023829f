import { hashSecret, newSecret, secretMatches } from '../domain/credentials.js';
import { type Grant, type Principal, principalKey } from '../domain/grants.js';
import { formatTime, newId } from '../domain/notation.js';
import type { AccessToken } from '../domain/site.js';
import { GatewayError } from '../errors.js';
import { NO_ACCESS_TOKEN } from './absences.js';
import { type Actor, type AuditAction, type AuditEntry, GATEWAY_ACTOR } from './audit-trail.js';
import type { SiteEvents } from './site-events.js';
import type { SiteModel } from './site-model.js';
import type { SiteStore } from './site-store.js';

/** The user name that goes with the admin token over MQTT. */
export const ADMIN_TOKEN_ID = 'admin';

/** A token's record with the token itself, which is shown only once. */
export interface IssuedToken {
  readonly record: AccessToken;
  readonly token: string;
}

export interface TokenRequest {
  readonly name: string;
  readonly grants: readonly Grant[];
  readonly expiresAtMs: number | null;
}

/** The access tokens of the site, and the admin token, which lives in the configuration. */
export class AccessTokens {
  readonly #store: SiteStore;
  readonly #model: SiteModel;
  readonly #events: SiteEvents;
  readonly #admin: AccessToken;
  readonly #now: () => number;

  constructor(
    store: SiteStore,
    model: SiteModel,
    events: SiteEvents,
    adminToken: string,
    now: () => number,
  ) {
    this.#store = store;
    this.#model = model;
    this.#events = events;
    this.#now = now;
    this.#admin = {
      id: ADMIN_TOKEN_ID,
      name: ADMIN_TOKEN_ID,
      grants: [{ location: '*', role: 'admin' }],
      tokenHash: hashSecret(adminToken),
      order: 0,
      createdAtMs: 0,
      expiresAtMs: null,
      isExpiryNoted: false,
    };
  }

  /** Lists all tokens but the admin token. */
  list(): AccessToken[] {
    return this.#model.accessTokens();
  }

  async create(actor: Actor, request: TokenRequest): Promise<IssuedToken> {
    const token = newSecret();
    const record: AccessToken = {
      id: newId(),
      name: request.name,
      grants: request.grants,
      tokenHash: hashSecret(token),
      order: this.#model.nextOrder(),
      createdAtMs: this.#now(),
      expiresAtMs: request.expiresAtMs,
      isExpiryNoted: false,
    };
    const entry = this.#entry(actor, 'access-token.created', record.id, described(record));
    await this.#store.createAccessToken(record, entry);
    this.#model.putAccessToken(record);
    return { record, token };
  }

  /** @throws GatewayError `access-token-not-found` */
  async delete(actor: Actor, id: string): Promise<void> {
    await this.#store.deleteAccessToken(id, this.#entry(actor, 'access-token.deleted', id));
    const record = this.#model.accessToken(id);
    if (record === undefined) throw GatewayError.of(NO_ACCESS_TOKEN);
    this.#model.removeAccessToken(id);
    this.#events.emit('credentialEnded', principalKey(principalOf(record)));
    this.#events.emit('principalRemoved', principalKey(principalOf(record)));
  }

  /** The owner of a bearer token (HTTP); undefined when it is unknown or has expired. */
  authenticateBearer(token: string): Principal | undefined {
    // An admin token may be invented by hand, so the time taken must not show how much of a guess is right.
    if (secretMatches(token, this.#admin.tokenHash)) return this.#valid(this.#admin);
    const hash = hashSecret(token);
    return this.#valid(this.#model.accessTokens().find(({ tokenHash }) => tokenHash === hash));
  }

  /** The owner of a user name and password (MQTT). */
  authenticatePair(id: string, token: Uint8Array): Principal | undefined {
    const record = this.#record(id);
    if (record === undefined || !secretMatches(token, record.tokenHash)) return undefined;
    return this.#valid(record);
  }

  /** The principal with this token id, while the token is valid. */
  principal(id: string): Principal | undefined {
    return this.#valid(this.#record(id));
  }

  /** The principal with this token id, even expired: a wrong clock must end nothing for good. */
  owner(id: string): Principal | undefined {
    const record = this.#record(id);
    return record && principalOf(record);
  }

  expired(): AccessToken[] {
    return this.#model.accessTokens().filter((record) => this.#valid(record) === undefined);
  }

  /**
   * Records that a token has expired, once, however often this is called.
   *
   * @throws GatewayError `store-unavailable`
   */
  async noteExpiry(record: AccessToken): Promise<void> {
    const { id, name, expiresAtMs } = record;
    const entry = this.#entry(GATEWAY_ACTOR, 'access-token.expired', id, { name });
    try {
      await this.#store.noteExpiry(id, { ...entry, atMs: expiresAtMs ?? entry.atMs });
    } catch (error) {
      // An earlier write without an answer has recorded it, or the token was deleted meanwhile.
      if (!isNotedOrDeleted(error)) throw error;
    }
    const current = this.#model.accessToken(id);
    if (current !== undefined) this.#model.putAccessToken({ ...current, isExpiryNoted: true });
  }

  #entry(
    actor: Actor,
    action: AuditAction,
    id: string,
    details: AuditEntry['details'] = {},
  ): AuditEntry {
    return { action, actor, atMs: this.#now(), locationId: null, resourceId: id, details };
  }

  #record(id: string): AccessToken | undefined {
    return id === ADMIN_TOKEN_ID ? this.#admin : this.#model.accessToken(id);
  }

  #valid(record: AccessToken | undefined): Principal | undefined {
    if (record === undefined) return undefined;
    if (record.expiresAtMs !== null && record.expiresAtMs <= this.#now()) return undefined;
    return principalOf(record);
  }
}

function principalOf(record: AccessToken): Principal {
  return { type: 'token', id: record.id, grants: record.grants };
}

/** The audit entry of the first administrator's token, which the gateway generates. */
export function firstTokenEntry(atMs: number): AuditEntry {
  return {
    action: 'access-token.created',
    actor: GATEWAY_ACTOR,
    atMs,
    locationId: null,
    resourceId: ADMIN_TOKEN_ID,
    details: { name: ADMIN_TOKEN_ID },
  };
}

/** A token's details in the audit trail: all but the token itself. */
function described({ name, grants, expiresAtMs }: AccessToken): AuditEntry['details'] {
  return {
    name,
    grants: JSON.stringify(grants),
    expiresAt: expiresAtMs === null ? null : formatTime(expiresAtMs),
  };
}

function isNotedOrDeleted(error: unknown): boolean {
  return (
    error instanceof GatewayError &&
    (error.code === 'changed-meanwhile' || error.code === 'access-token-not-found')
  );
}
