import { hashSecret, newSecret, secretMatches } from '../../domain/credentials.js';
import type { Grant, Principal } from '../../domain/grants.js';
import { formatTime, newId } from '../../domain/notation.js';
import type { AccessToken } from '../../domain/site.js';
import { GatewayError } from '../../errors.js';
import { type Actor, type AuditEntry, GATEWAY_ACTOR } from '../audit-trail.js';
import type { SiteChanges } from '../site-changes.js';
import type { SiteModel } from '../site-model.js';
import type { TokenUse } from './token-use.js';

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

/** A change of a token: undefined parts stay. */
export type TokenChange = { readonly [Key in keyof TokenRequest]?: TokenRequest[Key] | undefined };

/** The access tokens of the site, and the admin token, which lives in the configuration. */
export class AccessTokens {
  readonly #changes: SiteChanges;
  readonly #model: SiteModel;
  readonly #admin: AccessToken;
  readonly #use: Pick<TokenUse, 'note' | 'lastUsedAtMs'>;
  readonly #now: () => number;
  readonly #principals = new Map<
    string,
    { readonly type: 'token'; readonly id: string; grants: readonly Grant[] }
  >();

  constructor(
    changes: SiteChanges,
    model: SiteModel,
    adminToken: string,
    use: Pick<TokenUse, 'note' | 'lastUsedAtMs'>,
    now: () => number,
  ) {
    this.#changes = changes;
    this.#model = model;
    this.#use = use;
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

  /** Lists all tokens except the admin token. */
  list(): AccessToken[] {
    return this.#model.accessTokens();
  }

  create(actor: Actor, { name, grants, expiresAtMs }: TokenRequest): Promise<IssuedToken> {
    const token = newSecret();
    return this.#changes.make(actor, () => {
      const after: AccessToken = {
        id: newId(),
        name,
        grants,
        tokenHash: hashSecret(token),
        order: this.#model.nextOrder(),
        createdAtMs: this.#now(),
        expiresAtMs,
        isExpiryNoted: false,
      };
      const details = detailsOf(after);
      const records = [{ kind: 'access-token', before: undefined, after }] as const;
      return { action: 'access-token.created', details, records, result: { record: after, token } };
    });
  }

  /**
   * Changes the name, the grants, the expiry, or several of them. Grants apply immediately, to open connections too.
   *
   * @throws GatewayError `access-token-not-found`
   */
  change(actor: Actor, id: string, change: TokenChange): Promise<AccessToken> {
    return this.#changes.make(actor, () => {
      const before = found(this.#model.accessToken(id));
      const { name = before.name, grants = before.grants } = change;
      const { expiresAtMs = before.expiresAtMs } = change;
      const isExpiryNoted = before.isExpiryNoted && expiresAtMs === before.expiresAtMs;
      const after = { ...before, name, grants, expiresAtMs, isExpiryNoted };
      const details: Record<string, string | null> = {};
      const [now, previous] = [detailsOf(after), detailsOf(before)];
      for (const key of TOKEN_DETAILS) {
        if (now[key] === previous[key]) continue;
        details[key] = now[key];
        details[`previous${key.charAt(0).toUpperCase()}${key.slice(1)}`] = previous[key];
      }
      const records = [{ kind: 'access-token', before, after }] as const;
      return { action: 'access-token.changed', details, records, result: after };
    });
  }

  /**
   * Gives the token a new secret under the same id: the old one stops working immediately.
   *
   * @throws GatewayError `access-token-not-found`
   */
  replaceSecret(actor: Actor, id: string): Promise<IssuedToken> {
    const token = newSecret();
    return this.#changes.make(actor, () => {
      const before = found(this.#model.accessToken(id));
      const after = { ...before, tokenHash: hashSecret(token) };
      const records = [{ kind: 'access-token', before, after }] as const;
      const details = { name: before.name };
      const result = { record: after, token };
      return { action: 'access-token.secret-replaced', details, records, result };
    });
  }

  /** When the token was last used, in milliseconds since 1970; null: never. */
  lastUsedAtMs(id: string): number | null {
    return this.#use.lastUsedAtMs(id);
  }

  /** @throws GatewayError `access-token-not-found` */
  delete(actor: Actor, id: string): Promise<void> {
    return this.#changes.make(actor, () => {
      const before = found(this.#model.accessToken(id));
      const records = [{ kind: 'access-token', before, after: undefined }] as const;
      const details = { name: before.name };
      return { action: 'access-token.deleted', details, records, result: undefined };
    });
  }

  /** The owner of a bearer token (HTTP); undefined when it is unknown or has expired. */
  authenticateBearer(token: string): Principal | undefined {
    // A person may have made up the admin token, so the time taken must not show how much of a guess is right.
    if (secretMatches(token, this.#admin.tokenHash)) return this.#used(this.#admin);
    const hash = hashSecret(token);
    return this.#used(this.#model.accessTokens().find(({ tokenHash }) => tokenHash === hash));
  }

  /** The owner of a user name and password (MQTT). */
  authenticatePair(id: string, token: Uint8Array): Principal | undefined {
    const record = this.#record(id);
    if (record === undefined || !secretMatches(token, record.tokenHash)) return undefined;
    return this.#used(record);
  }

  /** The principal with this token id, while the token is valid. */
  principal(id: string): Principal | undefined {
    return this.#valid(this.#record(id));
  }

  /** The principal with this token id, even if expired: a wrong clock must not end anything for good. */
  owner(id: string): Principal | undefined {
    const record = this.#record(id);
    return record && this.#principalOf(record);
  }

  /** Notes that this gateway or another one has changed or deleted a token. */
  changed(id: string): void {
    const record = this.#model.accessToken(id);
    if (record === undefined) this.#principals.delete(id);
    else this.#principalOf(record);
  }

  /** The name of the token; its id if it was just deleted. */
  nameOf(id: string): string {
    return this.#record(id)?.name ?? id;
  }

  /**
   * The token with this id, the admin token included.
   *
   * @throws GatewayError `access-token-not-found`
   */
  get(id: string): AccessToken {
    return found(this.#record(id));
  }

  expired(): AccessToken[] {
    return this.#model.accessTokens().filter((record) => this.#valid(record) === undefined);
  }

  /**
   * Records only once that a token has expired, however often it is called.
   *
   * @throws GatewayError `store-unavailable`
   */
  async noteExpiry({ id }: AccessToken): Promise<void> {
    const noting = this.#changes.make(GATEWAY_ACTOR, () => {
      const record = this.#model.accessToken(id);
      const before = found(record?.isExpiryNoted === true ? undefined : record);
      const records = [
        { kind: 'access-token', before, after: { ...before, isExpiryNoted: true } },
      ] as const;
      const details = { name: before.name };
      const atMs = before.expiresAtMs ?? undefined;
      return { action: 'access-token.expired', details, atMs, records, result: undefined };
    });
    await noting.catch((error: unknown) => {
      // Recorded or deleted meanwhile.
      if (error instanceof GatewayError && error.code === 'access-token-not-found') return;
      throw error;
    });
  }

  #record(id: string): AccessToken | undefined {
    return id === ADMIN_TOKEN_ID ? this.#admin : this.#model.accessToken(id);
  }

  #valid(record: AccessToken | undefined): Principal | undefined {
    if (record === undefined) return undefined;
    if (record.expiresAtMs !== null && record.expiresAtMs <= this.#now()) return undefined;
    return this.#principalOf(record);
  }

  /** Like `#valid`, for a token that a client has shown. */
  #used(record: AccessToken | undefined): Principal | undefined {
    const principal = this.#valid(record);
    if (principal !== undefined) this.#use.note(principal.id);
    return principal;
  }

  /** Keeps one object for each token, so open connections get its new grants. */
  #principalOf({ id, grants }: AccessToken): Principal {
    const principal = this.#principals.get(id) ?? { type: 'token', id, grants };
    principal.grants = grants;
    this.#principals.set(id, principal);
    return principal;
  }
}

const TOKEN_DETAILS = ['name', 'grants', 'expiresAt'] as const;

/** A token for the audit trail. */
function detailsOf({ name, grants, expiresAtMs }: AccessToken) {
  const expiresAt = expiresAtMs === null ? null : formatTime(expiresAtMs);
  return { name, grants: JSON.stringify(grants), expiresAt };
}

function found(record: AccessToken | undefined): AccessToken {
  if (record !== undefined) return record;
  throw new GatewayError('access-token-not-found', 'There is no such access token.');
}

/** The audit entry for the first administrator's token, which the gateway generates. */
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
