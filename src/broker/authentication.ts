import type { AuthenticateError, Client } from 'aedes';
import type { SessionOwner } from '../delivery/session.js';
import type { Sessions } from '../delivery/sessions.js';
import { BRIDGE_CLIENT_ID_PREFIX } from '../domain/client-ids.js';
import { mayPublish, type Principal, principalKey, receiverRule } from '../domain/grants.js';
import { parsePublishTopic } from '../domain/topics.js';
import type { AccessTokens } from '../site/access-tokens.js';
import type { Devices } from '../site/devices.js';
import {
  BAD_CREDENTIALS,
  IDENTIFIER_REJECTED,
  NOT_AUTHORIZED,
  SERVER_UNAVAILABLE,
} from './connect-errors.js';
import { Connection } from './connection.js';
import type { ConnectionDenials } from './connection-denials.js';
import type { FailedLogins } from './failed-logins.js';
import type { BackPressure } from './unstored-publishes.js';

/** What of a CONNECT its authentication needs to know. */
export interface ConnectRequest {
  readonly address: string;
  readonly isClientIdEmpty: boolean;
  readonly isPersistent: boolean;
  readonly keepAliveSeconds: number;
  readonly willTopic: string | undefined;
}

export interface AuthenticationOptions {
  readonly devices: Devices;
  readonly accessTokens: AccessTokens;
  readonly sessions: Sessions;
  readonly failedLogins: FailedLogins;
  readonly backPressure: BackPressure;
  readonly denials: ConnectionDenials;
  readonly maxKeepAliveSeconds: number;
}

/** Why a CONNECT fails: the return code for the client, the reason for the log. */
export class ConnectError extends Error implements AuthenticateError {
  readonly returnCode: number;

  constructor(returnCode: number, reason: string) {
    super(reason);
    this.returnCode = returnCode;
  }
}

/** Decides who may connect (CONTRACT 3, Who may connect). */
export class Authentication {
  readonly #options: AuthenticationOptions;

  constructor(options: AuthenticationOptions) {
    this.#options = options;
  }

  /**
   * Admits a client with valid credentials: its connection, with its session.
   *
   * @throws ConnectError with the return code for the CONNACK
   */
  async admit(
    client: Client,
    request: ConnectRequest,
    username: string | undefined,
    password: Uint8Array | undefined,
  ): Promise<Connection> {
    // [MQTT-3.1.3-8]: a session that persists needs an identifier (DEPENDENCY-FAULTS 14).
    if (request.isClientIdEmpty && request.isPersistent) {
      throw new ConnectError(IDENTIFIER_REJECTED, 'empty client id with a persistent session');
    }
    const principal = await this.#identify(client.id, request, username, password);
    const keepAliveMs = this.#keepAliveMs(principal, request);
    this.#checkWill(client, principal, request);
    const owner = sessionOwner(principal);
    this.#checkClientId(client, principal, request, owner);
    const { backPressure, sessions } = this.#options;
    if (!backPressure.shareOf(owner.key).hasRoomForConnection) {
      throw new ConnectError(SERVER_UNAVAILABLE, 'too many connections wait for the store');
    }
    const session = sessions.open(client.id, owner, request.isPersistent);
    const { address } = request;
    return new Connection({ client, principal, address, keepAliveMs, session, backPressure });
  }

  /** A device must ask for a keep-alive; a token is looked after as if it had. */
  #keepAliveMs(principal: Principal, { keepAliveSeconds }: ConnectRequest): number {
    const { maxKeepAliveSeconds } = this.#options;
    const isInRange = keepAliveSeconds > 0 && keepAliveSeconds <= maxKeepAliveSeconds;
    if (principal.type === 'device' && !isInRange) {
      const reason = `keep-alive must be 1 to ${maxKeepAliveSeconds} seconds`;
      throw new ConnectError(NOT_AUTHORIZED, reason);
    }
    return (isInRange ? keepAliveSeconds : maxKeepAliveSeconds) * 1_000;
  }

  /** Refuses a device for a will it may not publish; a token's is dropped later (CONTRACT 3). */
  #checkWill(client: Client, principal: Principal, { willTopic, address }: ConnectRequest): void {
    if (willTopic === undefined || principal.type !== 'device') return;
    if (mayPublish(principal, parsePublishTopic(willTopic))) return;
    const reason = "a will that is not on the device's own topics";
    const peer = { principal, address, clientId: client.id };
    this.#options.denials.record(peer, 'will', willTopic, reason);
    throw new ConnectError(NOT_AUTHORIZED, reason);
  }

  #checkClientId(
    client: Client,
    principal: Principal,
    { address }: ConnectRequest,
    owner: SessionOwner,
  ): void {
    const ownerBefore = this.#options.sessions.ownerOf(client.id);
    const isBridges = client.id.startsWith(BRIDGE_CLIENT_ID_PREFIX);
    if (!isBridges && (ownerBefore === undefined || ownerBefore === owner.key)) return;
    const reason = `the client id belongs to ${isBridges ? 'a bridge' : 'another principal'}`;
    const peer = { principal, address, clientId: client.id };
    this.#options.denials.record(peer, 'connect', null, reason);
    throw new ConnectError(IDENTIFIER_REJECTED, reason);
  }

  async #identify(
    clientId: string,
    request: ConnectRequest,
    username: string | undefined,
    password: Uint8Array | undefined,
  ): Promise<Principal> {
    const { devices, accessTokens, failedLogins, denials } = this.#options;
    if (username === undefined || password === undefined) {
      throw new ConnectError(NOT_AUTHORIZED, 'no credentials');
    }
    const device = devices.authenticate(username.toLowerCase(), password);
    const principal: Principal | undefined =
      device === undefined
        ? accessTokens.authenticatePair(username, password)
        : { type: 'device', id: device.id };
    if (principal !== undefined) {
      failedLogins.succeeded(request.address);
      return principal;
    }
    denials.authentication(request.address, clientId, username);
    const delayMs = failedLogins.delayFor(request.address);
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    throw new ConnectError(BAD_CREDENTIALS, 'bad credentials');
  }
}

/** What a session needs to know of the principal to whom it belongs. */
export function sessionOwner(principal: Principal): SessionOwner {
  return {
    key: principalKey(principal),
    mayReceive: receiverRule(principal),
    audienceKey: JSON.stringify(principal.type === 'token' ? principal.grants : principal.type),
  };
}
