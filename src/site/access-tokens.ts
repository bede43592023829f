import { hashSecret, newSecret, secretMatches } from '../domain/credentials.js';
import type { Grant, Principal } from '../domain/grants.js';
import { principalKey } from '../domain/grants.js';
import { newId } from '../domain/identifiers.js';
import type { AccessToken } from '../domain/site.js';
import { GatewayError } from '../errors.js';
import type { SiteEvents } from './site-events.js';
import type { SiteModel } from './site-model.js';
import type { SiteStore } from './site-store.js';

/** The user name that goes with the admin token over MQTT. */
export const ADMIN_TOKEN_ID = 'admin';

/** A token's record with the token itself, which is shown this once. */
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
    };
  }

  /** Without the admin token. */
  list(): AccessToken[] {
    return this.#model.accessTokens();
  }

  async create(request: TokenRequest): Promise<IssuedToken> {
    const token = newSecret();
    const record: AccessToken = {
      id: newId(),
      name: request.name,
      grants: request.grants,
      tokenHash: hashSecret(token),
      order: this.#model.nextOrder(),
      createdAtMs: this.#now(),
      expiresAtMs: request.expiresAtMs,
    };
    await this.#store.createAccessToken(record);
    this.#model.putAccessToken(record);
    return { record, token };
  }

  /** @throws GatewayError `access-token-not-found` */
  async delete(id: string): Promise<void> {
    await this.#store.deleteAccessToken(id);
    const record = this.#model.accessToken(id);
    if (record === undefined) {
      throw new GatewayError('access-token-not-found', 'There is no such access token.');
    }
    this.#model.removeAccessToken(id);
    this.#events.emit('credentialEnded', principalKey(principalOf(record)));
    this.#events.emit('principalRemoved', principalKey(principalOf(record)));
  }

  /** Whose bearer token this is (HTTP); undefined when it is nobody's or has expired. */
  authenticateBearer(token: string): Principal | undefined {
    const hash = hashSecret(token);
    const candidates = [this.#admin, ...this.#model.accessTokens()];
    return this.#valid(candidates.find((record) => record.tokenHash === hash));
  }

  /** Whose user name and password these are (MQTT). */
  authenticatePair(id: string, token: Uint8Array): Principal | undefined {
    const record = this.#record(id);
    if (record === undefined || !secretMatches(token, record.tokenHash)) return undefined;
    return this.#valid(record);
  }

  /** The principal behind a token's id, as long as it is valid. */
  principal(id: string): Principal | undefined {
    return this.#valid(this.#record(id));
  }

  /** Tokens whose time has come since the last call of this with an earlier moment. */
  expiredBetween(fromMs: number, untilMs: number): Principal[] {
    return this.#model
      .accessTokens()
      .filter(
        ({ expiresAtMs }) => expiresAtMs !== null && expiresAtMs > fromMs && expiresAtMs <= untilMs,
      )
      .map(principalOf);
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
