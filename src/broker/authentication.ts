import type { AuthenticateError, Client } from 'aedes';
import type { Logger } from 'pino';
import type { SessionOwner, Sessions } from '../delivery/sessions.js';
import { BRIDGE_CLIENT_ID_PREFIX } from '../domain/client-ids.js';
import type { Principal } from '../domain/grants.js';
import { mayReceive, principalKey } from '../domain/grants.js';
import { GatewayError } from '../errors.js';
import type { AccessTokens } from '../site/access-tokens.js';
import type { Devices } from '../site/devices.js';
import { Connection } from './connection.js';
import type { FailedLogins } from './failed-logins.js';
import type { Intake } from './intake.js';
import { mayLeaveWill } from './publish-rights.js';
import {
  BAD_CREDENTIALS,
  IDENTIFIER_REJECTED,
  NOT_AUTHORIZED,
  SERVER_UNAVAILABLE,
} from './refusal-codes.js';
import type { Peer, RefusalReport } from './refusal-report.js';

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
  readonly intake: Intake;
  readonly refusals: RefusalReport;
  readonly maxKeepAliveSeconds: number;
  readonly log: Logger;
}

/** Why a CONNECT was refused: the return code for the client, the reason for the log. */
export class Refusal extends Error implements AuthenticateError {
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
   * The connection of a client with valid credentials and its session.
   *
   * @throws Refusal with the return code for the CONNACK; GatewayError `store-unavailable` when the
   *   connection has ended without one, because a refusal could not be written down
   */
  async admit(
    client: Client,
    request: ConnectRequest,
    username: string | undefined,
    password: Uint8Array | undefined,
  ): Promise<Connection> {
    // [MQTT-3.1.3-8]: a session that persists needs an identifier (DEPENDENCY-FAULTS 14).
    if (request.isClientIdEmpty && request.isPersistent) {
      throw new Refusal(IDENTIFIER_REJECTED, 'empty client id with a persistent session');
    }
    const principal = await this.#identify(client.id, request, username, password);
    const { maxKeepAliveSeconds, sessions } = this.#options;
    const peer = { principal, address: request.address, clientId: client.id };
    if (client.id.startsWith(BRIDGE_CLIENT_ID_PREFIX)) {
      await this.#recordRefusal(client, peer, 'connect', null);
      throw new Refusal(IDENTIFIER_REJECTED, 'the client id is that of a bridge');
    }
    if (request.keepAliveSeconds === 0 || request.keepAliveSeconds > maxKeepAliveSeconds) {
      throw new Refusal(NOT_AUTHORIZED, `keep-alive must be 1 to ${maxKeepAliveSeconds} seconds`);
    }
    if (request.willTopic !== undefined && !mayLeaveWill(principal, request.willTopic)) {
      const reason = 'a will that is not of a device on its own topics';
      await this.#recordRefusal(client, peer, 'will', request.willTopic);
      throw new Refusal(NOT_AUTHORIZED, reason);
    }
    const owner = sessionOwner(principal);
    const ownerBefore = sessions.ownerOf(client.id);
    if (ownerBefore !== undefined && ownerBefore !== owner.key) {
      await this.#recordRefusal(client, peer, 'connect', null);
      throw new Refusal(IDENTIFIER_REJECTED, 'the client id belongs to another principal');
    }
    const share = this.#options.intake.shareOf(owner.key);
    if (!share.hasRoomForConnection) {
      throw new Refusal(SERVER_UNAVAILABLE, 'too many connections wait for the store');
    }
    const destination = sessions.open(client.id, owner, request.isPersistent);
    return new Connection(client, principal, request.address, destination, share);
  }

  /** Resolves once the refusal stands in the audit trail: only then may the client be told. */
  async #recordRefusal(
    client: Client,
    peer: Peer,
    operation: 'will' | 'connect',
    topic: string | null,
  ): Promise<void> {
    try {
      await this.#options.refusals.permission(peer, operation, topic);
    } catch (error) {
      if (error instanceof GatewayError && error.code === 'too-many-refusals') {
        throw new Refusal(SERVER_UNAVAILABLE, 'refused too much');
      }
      client.close();
      throw error;
    }
  }

  async #identify(
    clientId: string,
    request: ConnectRequest,
    username: string | undefined,
    password: Uint8Array | undefined,
  ): Promise<Principal> {
    const { devices, accessTokens, failedLogins, refusals } = this.#options;
    if (username === undefined || password === undefined) {
      throw new Refusal(NOT_AUTHORIZED, 'no credentials');
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
    refusals.authentication(request.address, clientId, username);
    const delayMs = failedLogins.delayFor(request.address);
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    throw new Refusal(BAD_CREDENTIALS, 'bad credentials');
  }
}

/** What a session needs to know of the principal to whom it belongs. */
export function sessionOwner(principal: Principal): SessionOwner {
  return {
    key: principalKey(principal),
    mayReceive: (audience) => mayReceive(principal, audience),
    audienceKey: JSON.stringify(principal.type === 'token' ? principal.grants : principal.type),
  };
}
