/** Decides who may connect, and under which session (contract 3, Who may connect). */
import { setTimeout as delay } from 'node:timers/promises';
import { type SessionOwner, sessionKey } from '../delivery/sessions/session.js';
import { type SessionQuota, sessionToReplace } from '../delivery/sessions/session-limits.js';
import type { Sessions } from '../delivery/sessions/sessions.js';
import { BRIDGE_CLIENT_ID_PREFIX } from '../domain/bridge-schema.js';
import { type Principal, principalKey, receiverRule } from '../domain/grants.js';
import type { QuotasOfAll } from '../domain/limits.js';
import { WEBHOOK_CLIENT_ID_PREFIX } from '../domain/output-schema.js';
import { SHARE_PREFIX } from '../domain/topics.js';
import type { FailedLogins } from '../site/access/failed-logins.js';
import type { AccessTokens } from '../site/tokens.js';
import type { Broker } from './broker.js';
import type { Client, Login } from './client.js';
import { ConnectError, type ConnectRequest } from './connect.js';
import type { Flows } from './flow.js';

/** Prefixes of the client ids of the gateway's own sessions. */
const RESERVED_PREFIXES = [BRIDGE_CLIENT_ID_PREFIX, WEBHOOK_CLIENT_ID_PREFIX, SHARE_PREFIX];

export interface LoginsOptions {
  readonly accessTokens: AccessTokens;
  readonly sessions: Sessions;
  readonly failedLogins: FailedLogins;
  readonly flows: Flows;
  /** Whether a device or an access token has the id. */
  readonly isKnown: (id: string) => boolean;
  readonly sessionQuota: SessionQuota;
  readonly quotas: QuotasOfAll;
  readonly maxKeepAliveSeconds: number;
}

export class Logins {
  readonly #options: LoginsOptions;

  constructor(options: LoginsOptions) {
    this.#options = options;
  }

  /**
   * Admits a client with valid credentials: counts it, and opens its session.
   *
   * @throws ConnectError
   */
  async admit(
    client: Client,
    request: ConnectRequest,
    password: Uint8Array | undefined,
    broker: Broker,
  ): Promise<Login> {
    const { clientId, isPersistent, bytes } = request;
    // [MQTT-3.1.3-8]: a persistent session needs an identifier (dependency-faults.md, 10).
    if (clientId === '' && isPersistent) throw new ConnectError('client-id-missing');
    const principal = await this.#identify(client, request.username, password);
    const owner = sessionOwner(principal);
    const key = sessionKey(owner.key, clientId);
    const { flows, sessions, quotas } = this.#options;
    if (!client.isClosed) broker.count(client, owner.key, key, quotas[principal.type]);
    const flow = flows.of(principal);
    flow.countPacket(bytes, performance.now());
    if (RESERVED_PREFIXES.some((prefix) => clientId.startsWith(prefix))) {
      throw new ConnectError('client-id-reserved', { denied: principal });
    }
    if (isPersistent) this.#makeRoomForSession(principal, key, broker.sessionsOf(owner.key));
    const session = sessions.open(clientId, owner, request);
    return { principal, session, flow, keepAliveMs: this.#keepAliveMs(request) };
  }

  /** A longer keep-alive, or none, counts as the maximum. */
  #keepAliveMs({ keepAliveSeconds }: ConnectRequest): number {
    const { maxKeepAliveSeconds } = this.#options;
    const seconds = keepAliveSeconds === 0 ? maxKeepAliveSeconds : keepAliveSeconds;
    return Math.min(seconds, maxKeepAliveSeconds) * 1_000;
  }

  /** Makes room for one more persistent session, or refuses the client. */
  #makeRoomForSession(principal: Principal, key: string, inUse: ReadonlySet<string>): void {
    const { sessions, sessionQuota } = this.#options;
    if (sessions.get(key)?.isPersistent === true || sessionQuota.hasRoom(principal)) return;
    const absent = sessions
      .ofOwner(principalKey(principal))
      .filter((session) => session.isPersistent && !inUse.has(session.key));
    const replaced = sessionToReplace(absent, principal.type === 'device');
    if (replaced === undefined) throw new ConnectError('too-many-sessions');
    sessions.discardLater(replaced.key);
  }

  async #identify(
    { address, certificate }: Client,
    username: string | undefined,
    password: Uint8Array | undefined,
  ): Promise<Principal> {
    const { accessTokens, failedLogins, isKnown } = this.#options;
    if (certificate !== undefined && password === undefined) {
      const device = accessTokens.byCertificate(certificate, username?.toLowerCase());
      if (device === undefined) throw new ConnectError('certificate-refused');
      return device;
    }
    if (username === undefined || password === undefined) {
      throw new ConnectError('no-credentials');
    }
    const name = username.toLowerCase();
    const principal = accessTokens.byPair(name, password, address);
    const isValid = principal !== undefined;
    const { result, waitMs } = failedLogins.judge({ address, secret: password, isValid });
    if (isValid && result === 'admitted') return principal;
    // Answers late: this slows down a client that retries immediately.
    await delay(waitMs);
    if (result === 'ignored') throw new ConnectError('too-many-failed-logins');
    throw new ConnectError(isKnown(name) ? 'wrong-password' : 'unknown-user-name');
  }
}

/** The principal as its session needs it: its key, and what it may receive. */
export function sessionOwner(principal: Principal): SessionOwner {
  return {
    key: principalKey(principal),
    mayReceive: receiverRule(principal),
  };
}
