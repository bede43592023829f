/** Access tokens: what they are, who they make somebody, when they expire, and when they were last used. */
import type { Logger } from 'pino';
import { hashSecret, newSecret, secretMatches } from '../../domain/credentials.js';
import { type Grant, type Principal, principalKey } from '../../domain/grants.js';
import { newId } from '../../domain/ids.js';
import type { AccessToken } from '../../domain/site.js';
import { GatewayError } from '../../errors.js';
import { oneAtATime } from '../../releasers.js';
import { type Actor, type AuditEntry, GATEWAY_ACTOR } from '../audit-trail.js';
import type { SiteChanges } from '../changes.js';
import type { SiteModel } from '../site-model.js';

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
    const creating = this.#changes.create(actor, 'access-token', () => ({
      id: newId(),
      name,
      grants,
      tokenHash: hashSecret(token),
      order: this.#model.nextOrder(),
      createdAtMs: this.#now(),
      expiresAtMs,
      isExpiryNoted: false,
    }));
    return creating.then((record) => ({ record, token }));
  }

  /**
   * Changes the name, the grants, the expiry, or several of them. Grants apply immediately, to open connections too.
   *
   * @throws GatewayError `access-token-not-found`
   */
  change(actor: Actor, id: string, change: TokenChange): Promise<AccessToken> {
    const find = () => found(this.#model.accessToken(id));
    return this.#changes.edit(actor, ['access-token', 'access-token.changed'], find, (before) => {
      const { name = before.name, grants = before.grants } = change;
      const { expiresAtMs = before.expiresAtMs } = change;
      const isExpiryNoted = before.isExpiryNoted && expiresAtMs === before.expiresAtMs;
      return { ...before, name, grants, expiresAtMs, isExpiryNoted };
    });
  }

  /**
   * Gives the token a new secret under the same id: the old one stops working immediately.
   *
   * @throws GatewayError `access-token-not-found`
   */
  async replaceSecret(actor: Actor, id: string): Promise<IssuedToken> {
    const token = newSecret();
    const record = await this.#changes.edit(
      actor,
      ['access-token', 'access-token.secret-replaced'],
      () => found(this.#model.accessToken(id)),
      (before) => ({ ...before, tokenHash: hashSecret(token) }),
      ({ name }) => ({ name }),
    );
    return { record, token };
  }

  /** When the token was last used, in milliseconds since 1970; null: never. */
  lastUsedAtMs(id: string): number | null {
    return this.#use.lastUsedAtMs(id);
  }

  /** @throws GatewayError `access-token-not-found` */
  delete(actor: Actor, id: string): Promise<void> {
    return this.#changes.remove(actor, 'access-token', () => found(this.#model.accessToken(id)));
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
    const noting = this.#changes.change(GATEWAY_ACTOR, 'access-token.expired', () => {
      const record = this.#model.accessToken(id);
      const before = found(record?.isExpiryNoted === true ? undefined : record);
      const records = [
        { kind: 'access-token', before, after: { ...before, isExpiryNoted: true } },
      ] as const;
      const details = { name: before.name };
      const atMs = before.expiresAtMs ?? undefined;
      return { details, atMs, records, result: undefined };
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

export const EXPIRY_CHECK_MS = 1_000;

export interface TokenExpiryOptions {
  readonly accessTokens: AccessTokens;
  readonly changes: SiteChanges;
  readonly log: Logger;
}

/**
 * Closes the connections of expired tokens, and records the expiry.
 *
 * HTTP itself checks the expiry at each request. Sessions and their backlogs stay, and are forgotten like those of any
 * absent client: the clock may be years ahead for a while, and the token is valid again once it is corrected
 * (docs/reference/contract.md, 4.7).
 */
export class TokenExpiry {
  readonly #options: TokenExpiryOptions;
  /** The ids of expired tokens. */
  #expired: ReadonlySet<string> = new Set();
  readonly #note = oneAtATime(() => this.#noteExpiries());

  constructor(options: TokenExpiryOptions) {
    this.#options = options;
  }

  /** Call it every `EXPIRY_CHECK_MS`. */
  check(): void {
    const { accessTokens, changes } = this.#options;
    const expired = accessTokens.expired();
    for (const { id, grants } of expired) {
      if (this.#expired.has(id)) continue;
      changes.emit('credentialEnded', principalKey({ type: 'token', id, grants }));
    }
    this.#expired = new Set(expired.map(({ id }) => id));
    if (expired.some(({ isExpiryNoted }) => !isExpiryNoted)) void this.#note();
  }

  /** Also records tokens that expired while the gateway or the store was away. */
  async #noteExpiries(): Promise<void> {
    const { accessTokens, log } = this.#options;
    try {
      for (const record of accessTokens.expired()) {
        if (!record.isExpiryNoted) await accessTokens.noteExpiry(record);
      }
    } catch (err) {
      log.warn({ err }, 'failed to record an expired token, retrying');
    }
  }
}

/** Stores when access tokens were last used, across restarts. */
export interface TokenUseStore {
  /** Id of the token → milliseconds since 1970. */
  load(): Promise<ReadonlyMap<string, number>>;
  save(usedAtMs: ReadonlyMap<string, number>): Promise<void>;
}

/** When access tokens were last used, so that people can find forgotten ones. */
export class TokenUse {
  readonly #store: TokenUseStore;
  readonly #log: Logger;
  readonly #now: () => number;
  readonly #usedAtMs = new Map<string, number>();
  readonly #unsaved = new Map<string, number>();

  constructor(store: TokenUseStore, log: Logger, now: () => number) {
    this.#store = store;
    this.#log = log;
    this.#now = now;
  }

  /** @throws GatewayError `store-unavailable` */
  async load(): Promise<void> {
    for (const [id, atMs] of await this.#store.load()) this.#usedAtMs.set(id, atMs);
  }

  note(id: string): void {
    const nowMs = this.#now();
    this.#usedAtMs.set(id, nowMs);
    this.#unsaved.set(id, nowMs);
  }

  /** Null: never. */
  lastUsedAtMs(id: string): number | null {
    return this.#usedAtMs.get(id) ?? null;
  }

  /** Saves what was noted since the last save; never throws, because the next save is soon enough. */
  async save(): Promise<void> {
    if (this.#unsaved.size === 0) return;
    const saved = new Map(this.#unsaved);
    this.#unsaved.clear();
    try {
      await this.#store.save(saved);
    } catch (error) {
      for (const [id, atMs] of saved) {
        if (!this.#unsaved.has(id)) this.#unsaved.set(id, atMs);
      }
      this.#log.warn({ part: 'access tokens', err: error }, 'failed to save when tokens were used');
    }
  }
}

/** The devices and access tokens as owners of sessions. */
export class Principals {
  readonly #model: SiteModel;
  readonly #accessTokens: AccessTokens;

  constructor(model: SiteModel, accessTokens: AccessTokens) {
    this.#model = model;
    this.#accessTokens = accessTokens;
  }

  /** The principal with this `principalKey`, undefined when the device or token was deleted. */
  byKey(key: string): Principal | undefined {
    const [type, id = ''] = key.split(':');
    const principal: Principal | undefined =
      type === 'device' ? this.#device(id) : this.#accessTokens.owner(id);
    return principal !== undefined && principalKey(principal) === key ? principal : undefined;
  }

  #device(id: string): Principal | undefined {
    return this.#model.device(id) === undefined ? undefined : { type: 'device', id };
  }
}
