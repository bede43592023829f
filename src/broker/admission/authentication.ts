import { setTimeout as delay } from 'node:timers/promises';
import { type SessionOwner, sessionKey } from '../../delivery/sessions/session.js';
import { type SessionQuota, sessionToReplace } from '../../delivery/sessions/session-limits.js';
import type { Sessions } from '../../delivery/sessions/sessions.js';
import { BRIDGE_CLIENT_ID_PREFIX } from '../../domain/bridge-schema.js';
import { type Principal, principalKey, receiverRule } from '../../domain/grants.js';
import type { ConnectionQuotas } from '../../domain/limits.js';
import { WEBHOOK_CLIENT_ID_PREFIX } from '../../domain/output-schema.js';
import { SHARE_PREFIX } from '../../domain/shared-filters.js';
import type { AccessTokens } from '../../site/access/access-tokens.js';
import type { FailedLogins } from '../../site/access/failed-logins.js';
import type { QuotaWatch } from '../../site/access/quota-watch.js';
import type { Devices } from '../../site/devices.js';
import type { Budgets } from '../budgets/budgets.js';
import type { Slowing } from '../budgets/slowing.js';
import type { BackPressure } from '../budgets/unstored-publishes.js';
import { Connection } from '../connection.js';
import type { NetworkConnection } from '../wire/network-connection.js';
import { ConnectError } from './connect-errors.js';
import type { ConnectRequest } from './connect-request.js';
import type { ConnectionDenials } from './connection-denials.js';
import type { Claimant, ConnectionQuota, Held } from './connection-quota.js';

/** Prefixes of the client ids of the gateway's own sessions. */
const RESERVED_PREFIXES = [BRIDGE_CLIENT_ID_PREFIX, WEBHOOK_CLIENT_ID_PREFIX, SHARE_PREFIX];

export interface AuthenticationOptions {
  readonly devices: Devices;
  readonly accessTokens: AccessTokens;
  readonly sessions: Sessions;
  readonly failedLogins: FailedLogins;
  readonly backPressure: BackPressure;
  readonly budgets: Budgets;
  readonly slowing: Slowing;
  /** Whether a device or an access token has the id. */
  readonly isKnown: (id: string) => boolean;
  readonly connections: ConnectionQuota;
  readonly sessionQuota: SessionQuota;
  readonly watch: QuotaWatch;
  readonly quotasOf: (principal: Principal) => ConnectionQuotas;
  readonly denials: Pick<ConnectionDenials, 'ended'>;
  readonly maxKeepAliveSeconds: number;
}

/** Decides who may connect (docs/reference/contract.md, 3, Who may connect). */
export class Authentication {
  readonly #options: AuthenticationOptions;

  constructor(options: AuthenticationOptions) {
    this.#options = options;
  }

  /**
   * Admits a client with valid credentials. Returns its connection, with its session.
   *
   * @throws ConnectError
   */
  async admit(
    network: NetworkConnection & Held,
    request: ConnectRequest,
    password: Uint8Array | undefined,
  ): Promise<Connection> {
    // [MQTT-3.1.3-8]: a persistent session needs an identifier (dependency-faults.md, 10).
    if (request.clientId === '' && request.isPersistent) {
      throw new ConnectError('client-id-missing');
    }
    const principal = await this.#identify(request, password);
    const keepAliveMs = this.#keepAliveMs(request);
    const owner = sessionOwner(principal);
    const claimant = {
      owner: owner.key,
      sessionKey: sessionKey(owner.key, request.clientId),
      quotas: this.#options.quotasOf(principal),
    };
    const { backPressure, budgets, slowing, sessions, watch } = this.#options;
    this.#options.connections.admit(network, claimant);
    const budget = budgets.of(principal);
    budget.take(1, request.bytes, performance.now());
    this.#checkClientId(request.clientId, principal);
    if (request.isPersistent) this.#makeRoomForSession(claimant, principal);
    const session = sessions.open(request.clientId, owner, request);
    return new Connection({
      network,
      principal,
      request,
      keepAliveMs,
      session,
      backPressure,
      budget,
      slowing,
      sessions,
      onUnread: () => watch.exceeded('unread-bytes', owner.key),
      onEnd: (peer, code) => this.#options.denials.ended(peer, code),
    });
  }

  /** A longer keep-alive, or none, counts as the maximum. */
  #keepAliveMs({ keepAliveSeconds }: ConnectRequest): number {
    const { maxKeepAliveSeconds } = this.#options;
    const seconds = keepAliveSeconds === 0 ? maxKeepAliveSeconds : keepAliveSeconds;
    return Math.min(seconds, maxKeepAliveSeconds) * 1_000;
  }

  #checkClientId(clientId: string, principal: Principal): void {
    if (RESERVED_PREFIXES.some((prefix) => clientId.startsWith(prefix))) {
      throw new ConnectError('client-id-reserved', { denied: principal });
    }
  }

  /** Makes room for one more persistent session, or refuses the client. */
  #makeRoomForSession({ owner, sessionKey: key }: Claimant, principal: Principal): void {
    const { sessions, connections, sessionQuota } = this.#options;
    if (sessions.get(key)?.isPersistent === true || sessionQuota.hasRoom(principal)) return;
    const inUse = connections.sessionsOf(owner);
    const absent = sessions
      .ofOwner(owner)
      .filter((session) => session.isPersistent && !inUse.has(session.key));
    const replaced = sessionToReplace(absent, principal.type === 'device');
    if (replaced === undefined) throw new ConnectError('too-many-sessions');
    sessions.discardLater(replaced.key);
  }

  async #identify(
    { address, username }: ConnectRequest,
    password: Uint8Array | undefined,
  ): Promise<Principal> {
    const { devices, accessTokens, failedLogins, isKnown } = this.#options;
    if (username === undefined || password === undefined) {
      throw new ConnectError('no-credentials');
    }
    const name = username.toLowerCase();
    const device = devices.authenticate(name, password);
    const principal: Principal | undefined =
      device === undefined
        ? accessTokens.authenticatePair(name, password)
        : { type: 'device', id: device.id };
    const isValid = principal !== undefined;
    const { result, waitMs, isAnswered } = failedLogins.judge({
      address,
      secret: password,
      isValid,
    });
    if (isValid && result === 'admitted') return principal;
    // Answers late: this slows down a client that retries immediately.
    if (isAnswered) await delay(waitMs);
    if (result === 'ignored') throw new ConnectError('too-many-failed-logins', { isAnswered });
    const code = isKnown(name) ? 'wrong-password' : 'unknown-user-name';
    throw new ConnectError(code, { isAnswered });
  }
}

/** The principal as its session needs it: its key, and what it may receive. */
export function sessionOwner(principal: Principal): SessionOwner {
  return {
    key: principalKey(principal),
    mayReceive: receiverRule(principal),
  };
}
