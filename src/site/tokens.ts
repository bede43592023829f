/**
 * Access tokens: what they are, who they make somebody, when they expire, and when they were last used.
 *
 * The admin token, which lives in the configuration, is one of them, but is neither listed nor changed. Also tells who
 * somebody else is: which device has a name and a secret, whose session has a key.
 */
import type { Logger } from 'pino';
import { isInNetworks } from '../domain/addresses.js';
import {
  type ClientCertificate,
  hashSecret,
  newSecret,
  secretMatches,
} from '../domain/credentials.js';
import { type Grant, type Principal, principalKey } from '../domain/grants.js';
import { newId } from '../domain/ids.js';
import type { AccessToken } from '../domain/site.js';
import { GatewayError } from '../errors.js';
import type { TokenUseStoreRedis } from '../store/site/kept.js';
import { type Actor, type AuditEntry, GATEWAY_ACTOR } from './audit-trail.js';
import type { SiteChanges } from './changes.js';
import type { SiteModel } from './site-model.js';

/** The user name that goes with the admin token over MQTT. */
export const ADMIN_TOKEN_ID = 'admin';
export const EXPIRY_CHECK_MS = 1_000;
export const TOKEN_USE_SAVED_MS = 60_000;
export const DESTINATION_TYPES = ['session', 'bridge', 'webhook'] as const;

/** A token's record with the token itself, which is shown only once. */
export interface IssuedToken {
  readonly record: AccessToken;
  readonly token: string;
}

export interface TokenRequest {
  readonly name: string;
  readonly grants: readonly Grant[];
  readonly expiresAtMs: number | null;
  /** In CIDR notation; null: from everywhere. */
  readonly networks: readonly string[] | null;
}

/** A change of a token: undefined parts stay. */
export type TokenChange = { readonly [Key in keyof TokenRequest]?: TokenRequest[Key] | undefined };

/** Where alarms go, in terms that people know. */
export interface NamedDestination {
  readonly type: (typeof DESTINATION_TYPES)[number];
  /** The client id of a session, the name of a bridge or webhook. */
  readonly id: string;
  /** For a session, the name of its access token or device. */
  readonly name: string;
}

interface TokenPrincipal {
  readonly type: 'token';
  readonly id: string;
  grants: readonly Grant[];
}

export interface AccessTokensOptions {
  readonly changes: SiteChanges;
  readonly model: SiteModel;
  readonly adminToken: string;
  readonly use: Pick<TokenUseStoreRedis, 'load' | 'save'>;
  readonly log: Logger;
  readonly now: () => number;
}

export class AccessTokens {
  readonly #options: AccessTokensOptions;
  #admin: AccessToken;
  /** One object for each token, whose grants change in place: open connections get the new ones without asking. */
  readonly #principals = new Map<string, TokenPrincipal>();
  /** The ids of expired tokens, as of the last `sweep`. */
  #expired: ReadonlySet<string> = new Set();
  readonly #usedAtMs = new Map<string, number>();
  /** The ids of tokens that were used since the last `save`. */
  #unsaved = new Set<string>();

  constructor(options: AccessTokensOptions) {
    this.#options = options;
    this.#admin = {
      id: ADMIN_TOKEN_ID,
      name: ADMIN_TOKEN_ID,
      grants: [{ location: '*', role: 'admin' }],
      tokenHash: hashSecret(options.adminToken),
      order: 0,
      createdAtMs: 0,
      expiresAtMs: null,
    };
    options.changes.on('tokenChanged', (id) => {
      const record = options.model.accessToken(id);
      if (record === undefined) this.#principals.delete(id);
      else this.#principalOf(record);
    });
  }

  /** Loads when tokens were last used. @throws GatewayError `store-unavailable` */
  async load(): Promise<void> {
    for (const [id, atMs] of await this.#options.use.load()) this.#usedAtMs.set(id, atMs);
  }

  /** Whether this is the secret of the admin token. */
  isAdmins(token: string): boolean {
    return secretMatches(token, this.#admin.tokenHash);
  }

  /** Takes another secret for the admin token; the one before ends, with its connections. */
  replaceAdmin(token: string): void {
    this.#admin = { ...this.#admin, tokenHash: hashSecret(token) };
    const { id, grants } = this.#admin;
    this.#options.changes.emit('credentialEnded', principalKey({ type: 'token', id, grants }));
    this.#options.log.info("the first administrator's token was replaced");
  }

  /** All tokens except the admin token. */
  list(): AccessToken[] {
    return this.#options.model.accessTokens();
  }

  async create(actor: Actor, request: TokenRequest): Promise<IssuedToken> {
    const { changes, model, now } = this.#options;
    const { name, grants, expiresAtMs, networks } = request;
    const token = newSecret();
    const record = await changes.create(actor, 'access-token', () => ({
      id: newId(),
      name,
      grants,
      tokenHash: hashSecret(token),
      order: model.nextOrder(),
      createdAtMs: now(),
      expiresAtMs,
      networks: networks ?? undefined,
    }));
    return { record, token };
  }

  /**
   * Changes the name, the grants, the expiry, the networks, or several of them. Grants apply immediately, to open
   * connections too; other networks end them.
   *
   * @throws GatewayError `access-token-not-found`
   */
  change(actor: Actor, id: string, change: TokenChange): Promise<AccessToken> {
    return this.#options.changes.edit(
      actor,
      ['access-token', 'access-token.changed'],
      () => this.#stored(id),
      (before) => {
        const { name = before.name, grants = before.grants } = change;
        const { expiresAtMs = before.expiresAtMs } = change;
        const networks = change.networks === undefined ? before.networks : change.networks;
        return { ...before, name, grants, expiresAtMs, networks: networks ?? undefined };
      },
    );
  }

  /**
   * Gives the token a new secret under the same id: the old one stops working immediately.
   *
   * @throws GatewayError `access-token-not-found`
   */
  async replaceSecret(actor: Actor, id: string): Promise<IssuedToken> {
    const token = newSecret();
    const record = await this.#options.changes.edit(
      actor,
      ['access-token', 'access-token.secret-replaced'],
      () => this.#stored(id),
      (before) => ({ ...before, tokenHash: hashSecret(token) }),
      ({ name }) => ({ name }),
    );
    return { record, token };
  }

  /** @throws GatewayError `access-token-not-found` */
  delete(actor: Actor, id: string): Promise<void> {
    return this.#options.changes.remove(actor, 'access-token', () => this.#stored(id));
  }

  /** The token with this id, the admin token included. @throws GatewayError `access-token-not-found` */
  get(id: string): AccessToken {
    return found(this.#record(id));
  }

  /** Whether there is a token with this id, even if expired. */
  has(id: string): boolean {
    return this.#record(id) !== undefined;
  }

  /** The name of the token; its id if it was just deleted. */
  nameOf(id: string): string {
    return this.#record(id)?.name ?? id;
  }

  /** When the token was last used, in milliseconds since 1970; null: never. */
  lastUsedAtMs(id: string): number | null {
    return this.#usedAtMs.get(id) ?? null;
  }

  /** The owner of a bearer token (HTTP); undefined when it is unknown, has expired, or is not for this address. */
  byBearer(token: string, address: string): TokenPrincipal | undefined {
    // A person may have made up the admin token, so the time taken must not show how much of a guess is right.
    if (secretMatches(token, this.#admin.tokenHash)) return this.#shown(this.#admin, address);
    const hash = hashSecret(token);
    return this.#shown(
      this.list().find(({ tokenHash }) => tokenHash === hash),
      address,
    );
  }

  /** The device or token with this user name and password (MQTT). */
  byPair(id: string, secret: Uint8Array, address: string): Principal | undefined {
    if (this.#options.model.authenticated(id, secret) !== undefined) return { type: 'device', id };
    const record = this.#record(id);
    const isRight = record !== undefined && secretMatches(secret, record.tokenHash);
    return isRight ? this.#shown(record, address) : undefined;
  }

  /**
   * The device that a verified certificate names (MQTT). One issued before the device got its present secret is revoked.
   *
   * @param username what the client calls itself; undefined: nothing
   */
  byCertificate(
    { ids, issuedAtMs, endMs }: ClientCertificate,
    username: string | undefined,
  ): Principal | undefined {
    const { model, now } = this.#options;
    const named = username === undefined ? ids : ids.filter((id) => id === username);
    const devices = named.flatMap((id) => model.device(id) ?? []);
    const [device] = devices.filter(({ secretRenewedAtMs = 0 }) => issuedAtMs >= secretRenewedAtMs);
    // A resumed TLS session does not check the end.
    return device && endMs > now() ? { type: 'device', id: device.id } : undefined;
  }

  /**
   * The device or token with this `principalKey`, undefined when it was deleted.
   *
   * Also an expired token: a wrong clock must not end anything for good.
   */
  byKey(key: string): Principal | undefined {
    const [type, id = ''] = key.split(':');
    if (type === 'device') return this.#options.model.device(id) && { type, id };
    const record = type === 'token' ? this.#record(id) : undefined;
    return record && this.#principalOf(record);
  }

  /** Names the destination whose session has this key: `<type of owner>:<id>/<client id>`. */
  destinationOf(sessionKey: string): NamedDestination {
    const [, type = '', id = '', clientId = ''] =
      /^([a-z]+):([^/]*)\/(.*)$/s.exec(sessionKey) ?? [];
    if (type === 'bridge' || type === 'webhook') return { type, id, name: id };
    const device = type === 'device' ? this.#options.model.device(id) : undefined;
    return { type: 'session', id: clientId, name: device?.name ?? this.nameOf(id) };
  }

  /**
   * Ends the connections of tokens that have expired; call it every `EXPIRY_CHECK_MS`.
   *
   * HTTP itself checks the expiry at each request. Sessions and their backlogs stay, and are forgotten like those of any
   * absent client: the clock may be years ahead for a while, and the token is valid again once it is corrected (contract
   * 4.7).
   */
  sweep(): void {
    const expired = this.list().filter((record) => !this.#isValid(record));
    for (const { id, grants } of expired) {
      if (this.#expired.has(id)) continue;
      this.#options.changes.emit('credentialEnded', principalKey({ type: 'token', id, grants }));
    }
    this.#expired = new Set(expired.map(({ id }) => id));
  }

  /** Saves what was used since the last save; never throws, because the next save is soon enough. */
  async save(): Promise<void> {
    if (this.#unsaved.size === 0) return;
    const saved = this.#unsaved;
    this.#unsaved = new Set();
    try {
      await this.#options.use.save(
        new Map(Array.from(saved, (id) => [id, this.#usedAtMs.get(id) ?? 0])),
      );
    } catch (err) {
      for (const id of saved) this.#unsaved.add(id);
      const { log } = this.#options;
      log.warn({ part: 'access tokens', err }, 'failed to save when tokens were used');
    }
  }

  #record(id: string): AccessToken | undefined {
    return id === ADMIN_TOKEN_ID ? this.#admin : this.#options.model.accessToken(id);
  }

  #stored(id: string): AccessToken {
    return found(this.#options.model.accessToken(id));
  }

  #isValid({ expiresAtMs }: AccessToken): boolean {
    return expiresAtMs === null || expiresAtMs > this.#options.now();
  }

  /** The principal of a token that a client has shown, while it is valid. */
  #shown(record: AccessToken | undefined, address: string): TokenPrincipal | undefined {
    if (record === undefined || !this.#isValid(record)) return undefined;
    const { networks } = record;
    if (networks !== undefined && !isInNetworks(address, networks)) return undefined;
    this.#usedAtMs.set(record.id, this.#options.now());
    this.#unsaved.add(record.id);
    return this.#principalOf(record);
  }

  #principalOf({ id, grants }: AccessToken): TokenPrincipal {
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

/** The audit entry for the first administrator's token once it was replaced in its file. */
export function replacedTokenEntry(atMs: number): AuditEntry {
  return { ...firstTokenEntry(atMs), action: 'access-token.secret-replaced' };
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
