import type { Logger } from 'pino';
import { BoundedMap } from '../domain/bounded-map.js';
import { type Principal, principalKey } from '../domain/grants.js';
import { isUuid } from '../domain/ids.js';
import { formatTime } from '../domain/time.js';
import {
  KEEP_ALIVE_TIMEOUT,
  MALFORMED_PACKET,
  NOT_AUTHORIZED,
  PacketError,
  type Refusal,
  SERVER_BUSY,
  SESSION_TAKEN_OVER,
} from '../mqtt/codes.js';
import type { MqttVersion } from '../mqtt/packets.js';
import { type Denials, shortened } from '../site/access/denials.js';
import type { Actor, AuditSubject } from '../site/audit-trail.js';
import type { Client } from './client.js';
import {
  ConnectError,
  type ConnectErrorCode,
  type ConnectRequest,
  VERSION_NAMES,
} from './connect.js';
import {
  DENIED_REASONS,
  type DeniedConnection,
  type DeniedOperation,
  type DeniedReason,
} from './connection-list.js';

const MAX_SHOWN = 1_000;
const FAILED_LOGINS: readonly ConnectErrorCode[] = [
  'wrong-password',
  'unknown-user-name',
  'too-many-failed-logins',
];
/** Reasons to deny a filter that are not a lack of permission. */
const NO_WANT_OF_PERMISSION: readonly DeniedReason[] = [
  'shared-filter-invalid',
  'too-many-subscriptions',
];
/** The MQTT 5 reason codes for connections that the gateway ends. */
const END_CODES: Readonly<Partial<Record<DeniedReason, number>>> = {
  'malformed-packet': MALFORMED_PACKET,
  'keep-alive-timeout': KEEP_ALIVE_TIMEOUT,
  'taken-over': SESSION_TAKEN_OVER,
  'credential-ended': NOT_AUTHORIZED,
  'not-stored': SERVER_BUSY,
};

/** The reason in DISCONNECT when the gateway ends an MQTT 5 connection; undefined: it sends none. */
export function endOf(code: DeniedReason): Refusal | undefined {
  const reasonCode = END_CODES[code];
  return reasonCode === undefined ? undefined : { reasonCode, reason: DENIED_REASONS[code] };
}

/** Who is at the other end of a connection. */
interface Peer {
  readonly principal: Principal;
  readonly address: string;
  readonly clientId: string;
  readonly version: MqttVersion;
}

/** A client that could not connect. */
interface Stranger {
  readonly address: string;
  /** Undefined when no CONNECT could be read. */
  readonly request: Pick<ConnectRequest, 'clientId' | 'username'> | undefined;
  /** Undefined until a CONNECT states it. */
  readonly version: MqttVersion | undefined;
}

export interface DeniedOptions {
  readonly denials: Denials;
  /** Whether a device or an access token has the id. */
  readonly isKnown: (id: string) => boolean;
  readonly log: Logger;
  readonly now: () => number;
  /** A clock that does not jump. */
  readonly elapsed: () => number;
}

/**
 * Records what MQTT clients are denied, and connect errors. Missing permissions and failed logins go to
 * the audit trail. The newest 1,000 of all are kept for `GET /connections/denied`.
 */
export class Denied {
  readonly #options: DeniedOptions;
  readonly #shown: DeniedConnection[] = [];
  /** When each denial that is shown once in `FLOOD_MS` was last shown, by a clock that does not jump. */
  readonly #shownAtMs = new BoundedMap<string, number>(MAX_SHOWN);

  constructor(options: DeniedOptions) {
    this.#options = options;
  }

  /** The newest 1,000 since the start, the newest first. */
  newest(): DeniedConnection[] {
    return this.#shown.toReversed();
  }

  /** Records why a client fails, before or after its login. */
  failed(client: Client, error: ConnectError | PacketError): void {
    const peer = peerOf(client);
    if (error instanceof PacketError) {
      const { message: reason } = error;
      const malformed = new ConnectError('malformed-connect', { reason });
      if (peer !== undefined) this.#ended(peer, 'malformed-packet', error);
      else this.connect(client, malformed, error.returnCodeFor(client.version));
    } else this.connect(client, error);
  }

  /** Records a failed CONNECT. */
  connect(
    { address, request, version }: Stranger,
    error: ConnectError,
    returnCode = error.returnCodeFor(version),
  ): void {
    const { code, denied, message: reason } = error;
    const mqttVersion = version === undefined ? null : VERSION_NAMES[version];
    const clientId = request?.clientId ?? null;
    const username = this.#knownId(request?.username);
    const claimed = { clientId, username: username ?? undefined };
    this.#options.log.info({ address, ...claimed, code, reason }, 'connect error');
    const [operation, topic] = ['connect', null] as const;
    const detail = detailOf(code, reason);
    const peer = { address, clientId, username, mqttVersion };
    this.#show({ ...peer, operation, topic, returnCode, code, detail });
    if (denied !== undefined) {
      this.#record({ address, principal: denied, clientId }, operation, topic);
    } else if (FAILED_LOGINS.includes(code)) {
      const actor: Actor = { type: 'anonymous', id: null, address, requestId: null };
      const details = { operation, clientId, username };
      this.#options.denials.addFailedLogin(actor, details);
    }
  }

  /** Records a connection that the gateway has ended after its login. */
  ended(client: Client, code: DeniedReason): void {
    const peer = peerOf(client);
    if (peer !== undefined) this.#ended(peer, code);
  }

  /** @param broken the rule that the client has broken */
  #ended(peer: Peer, code: DeniedReason, broken?: PacketError): void {
    const { address, clientId, principal, version } = peer;
    const reason = broken?.message;
    const ofCode = version === 5 ? (END_CODES[code] ?? null) : null;
    const returnCode = broken?.returnCodeFor(version) ?? ofCode;
    const what = { operation: 'connection', topic: null, returnCode, code } as const;
    const mqttVersion = VERSION_NAMES[version];
    const detail = detailOf(code, reason);
    this.#options.log.info(
      { clientId, principal: principalKey(principal), address, code, reason: reason ?? detail },
      'connection ended',
    );
    this.#show({ ...what, address, clientId, username: principal.id, mqttVersion, detail });
  }

  /** Records a denied PUBLISH. */
  publish(client: Client, topic: string, code: DeniedReason): void {
    const peer = peerOf(client);
    if (peer === undefined) return;
    const { clientId, principal } = peer;
    const what = { operation: 'publish', topic, code, reason: DENIED_REASONS[code] };
    const who = principalKey(principal);
    this.#options.log.info({ clientId, principal: who, ...what }, 'permission denied');
    const returnCode = peer.version === 5 ? NOT_AUTHORIZED : null;
    this.#deny(peer, { operation: 'publish', topic, returnCode, code });
    this.#record(peer, 'publish', topic);
  }

  /**
   * Records a denied filter; a filter beyond a limit is not a lack of permission.
   *
   * @param returnCode in the SUBACK
   */
  filter(client: Client, topic: string, code: DeniedReason, returnCode: number): void {
    const peer = peerOf(client);
    if (peer === undefined) return;
    this.#deny(peer, { operation: 'subscribe', topic, returnCode, code });
    if (!NO_WANT_OF_PERMISSION.includes(code)) this.#record(peer, 'subscribe', topic);
  }

  #deny(
    { address, clientId, principal, version }: Peer,
    what: Pick<DeniedConnection, 'operation' | 'topic' | 'returnCode' | 'code'>,
  ): void {
    const detail = DENIED_REASONS[what.code];
    const mqttVersion = VERSION_NAMES[version];
    this.#show({ ...what, address, clientId, username: principal.id, mqttVersion, detail });
  }

  #record(
    {
      clientId,
      ...actor
    }: Pick<Peer, 'principal' | 'address'> & {
      readonly clientId: string | null;
    },
    operation: DeniedOperation,
    topic: string | null,
  ): void {
    const details = { operation, clientId, topic };
    this.#options.denials.addDeniedPermission(actorOf(actor), subjectOf(topic ?? ''), details);
  }

  /** The user name if it is one of our ids: anything else may be a mistyped secret. */
  #knownId(username: string | undefined): string | null {
    const id = username?.toLowerCase();
    return id !== undefined && this.#options.isKnown(id) ? id : null;
  }

  #show(what: Omit<DeniedConnection, 'at'>): void {
    const at = formatTime(this.#options.now());
    const [clientId, topic] = [shortened(what.clientId), shortened(what.topic)];
    // A client that repeats itself without a pause must not push out everything else.
    if (what.operation === 'publish' || what.code === 'connecting-too-fast') {
      const repeated = JSON.stringify([what.code, what.username ?? what.address, clientId, topic]);
      const elapsedMs = this.#options.elapsed();
      const shownAtMs = this.#shownAtMs.get(repeated) ?? Number.NEGATIVE_INFINITY;
      if (elapsedMs - shownAtMs < FLOOD_MS) return;
      this.#shownAtMs.set(repeated, elapsedMs);
    }
    this.#shown.push({ ...what, at, clientId, topic });
    if (this.#shown.length > MAX_SHOWN) this.#shown.shift();
  }
}

/** Undefined before its login. */
function peerOf({ address, login, version }: Client): Peer | undefined {
  if (login === undefined || version === undefined) return undefined;
  const { principal, session } = login;
  return { principal, address, clientId: session.clientId, version };
}

/** Only the error knows which rule of MQTT or TLS was broken. */
const HAS_REASON: readonly DeniedReason[] = [
  'malformed-connect',
  'malformed-packet',
  'tls-handshake-failed',
];
/** Shown once in this time: a client's denied publishes on one topic, and an address's too fast connections. */
const FLOOD_MS = 1_000;

function detailOf(code: DeniedReason, reason: string | undefined): string {
  const words = DENIED_REASONS[code];
  return reason === undefined || !HAS_REASON.includes(code) ? words : `${words} (${reason})`;
}

function actorOf({ principal, address }: Pick<Peer, 'principal' | 'address'>): Actor {
  const type = principal.type === 'device' ? 'device' : 'access-token';
  return { type, id: principal.id, address, requestId: null };
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
