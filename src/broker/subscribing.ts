import type { Logger } from 'pino';
import type { RetainedMessages } from '../delivery/retained.js';
import { sessionKey } from '../delivery/sessions/session.js';
import type { SessionQuota } from '../delivery/sessions/session-limits.js';
import type { Sessions } from '../delivery/sessions/sessions.js';
import type { Subscription } from '../delivery/sessions/subscriptions.js';
import { maySubscribe, type Principal } from '../domain/grants.js';
import type { QuotasOfAll } from '../domain/limits.js';
import { parseSharedFilter, SHARE_PREFIX, withLowerCaseIds } from '../domain/topics.js';
import {
  isFailure,
  NO_SUBSCRIPTION_EXISTED,
  NORMAL,
  NOT_AUTHORIZED,
  QUOTA_EXCEEDED,
  TOPIC_FILTER_INVALID,
  UNSPECIFIED_ERROR,
} from '../mqtt/codes.js';
import type {
  MqttVersion,
  RequestedFilter,
  SubscribePacket,
  UnsubscribePacket,
} from '../mqtt/packets.js';
import type { QuotaWatch } from '../site/access/quota-watch.js';
import type { Client, Login } from './client.js';
import { DENIED_REASONS, type DeniedReason } from './connection-list.js';
import type { Denied } from './denied.js';
import { memoryOf } from './flow.js';
import type { PacketWriter } from './writer.js';

const BYTES_OF_FILTER = 200;
const MAX_LOGGED_FILTERS = 10;
const NO_SUBSCRIPTION = 'The session has no such subscription.';

export interface SubscribingOptions {
  readonly sessions: Sessions;
  readonly sessionQuota: SessionQuota;
  readonly retained: Pick<RetainedMessages, 'matching' | 'later'>;
  readonly denied: Denied;
  readonly quotas: QuotasOfAll;
  readonly watch: QuotaWatch;
  readonly log: Logger;
}

/**
 * Handles SUBSCRIBE and UNSUBSCRIBE, bypassing Aedes.
 *
 * Aedes would store denied filters (dependency-faults.md, 5) and write each packet once for each of
 * its filters. A packet takes effect on arrival, and is acknowledged once stored.
 */
export class Subscribing {
  readonly #options: SubscribingOptions;

  constructor(options: SubscribingOptions) {
    this.#options = options;
  }

  subscribe(client: Client, packet: SubscribePacket, writer: PacketWriter): void {
    const { login } = client;
    if (login === undefined) return;
    const { messageId, filters: requested } = packet;
    const granted: Subscription[] = [];
    const retained: string[] = [];
    const { session } = login;
    const isNew = (filter: string) => session.consumer?.subscriptions.has(filter) !== true;
    const added = new Set<string>();
    const room = this.#roomOf(login);
    const reasons = new Set<string>();
    const codes = requested.map((options) => {
      const { filter: written, qos, retainHandling } = options;
      const filter = withLowerCaseIds(written);
      const code = this.#denialOf(login, added, filter, room);
      if (code !== undefined) {
        const returnCode = failureOf(code, client.version);
        this.#options.denied.filter(client, filter, code, returnCode);
        reasons.add(DENIED_REASONS[code]);
        return returnCode;
      }
      const grantedQos = qos === 0 ? 0 : 1;
      granted.push({
        filter,
        qos: grantedQos,
        isNoLocal: options.isNoLocal || undefined,
        isRetainAsPublished: options.isRetainAsPublished || undefined,
        identifier: packet.subscriptionIdentifier,
      });
      // Shared subscriptions get no retained messages (MQTT 5, 4.8.2).
      if (filter.startsWith(SHARE_PREFIX)) return grantedQos;
      const isWanted = retainHandling === 0 || (retainHandling === 1 && isNew(filter));
      if (isWanted) retained.push(filter);
      return grantedQos;
    });
    this.#logDenied(login, requested, codes);
    const stored = this.#options.sessions.subscribe(session.key, granted);
    client.receive();
    this.#whenStored(client, login, stored, requested.length, () => {
      const reason = reasons.size === 0 ? undefined : [...reasons].join(' ');
      writer.suback(messageId, codes, reason);
      if (retained.length > 0) session.consumer?.offerRetained(retained, this.#options.retained);
    });
  }

  unsubscribe(client: Client, packet: UnsubscribePacket, writer: PacketWriter): void {
    const { login } = client;
    if (login === undefined) return;
    const filters = packet.filters.map(withLowerCaseIds);
    const { session } = login;
    const subscriptions = session.consumer?.subscriptions;
    const codes = filters.map((filter) =>
      subscriptions?.has(filter) === true ? NORMAL : NO_SUBSCRIPTION_EXISTED,
    );
    const stored = this.#options.sessions.unsubscribe(session.key, filters);
    const reason = codes.includes(NO_SUBSCRIPTION_EXISTED) ? NO_SUBSCRIPTION : undefined;
    this.#whenStored(client, login, stored, filters.length, () =>
      writer.unsuback(packet.messageId, codes, reason),
    );
  }

  /** @param acknowledge called once the change is stored; if storing fails, the connection ends */
  #whenStored(
    client: Client,
    { flow, session }: Login,
    stored: Promise<void>,
    filters: number,
    acknowledge: () => void,
  ): void {
    flow.takeUntil(stored, memoryOf(filters * BYTES_OF_FILTER));
    stored.then(acknowledge, (error: unknown) => {
      const { key: principal } = session.owner;
      const fields = { clientId: session.clientId, err: error };
      this.#options.log.warn({ principal, ...fields }, 'failed to store a session');
      client.end('not-stored');
    });
  }

  /**
   * Why a filter is not granted; undefined: it is.
   *
   * @param added the new filters of the packet; clients repeat the others whenever they connect
   */
  #denialOf(
    { session, principal }: Login,
    added: Set<string>,
    filter: string,
    room: number,
  ): DeniedReason | undefined {
    const isShared = filter.startsWith(SHARE_PREFIX) && principal.type === 'token';
    const wanted = isShared ? parseSharedFilter(filter)?.filter : filter;
    if (wanted === undefined) return 'shared-filter-invalid';
    if (!maySubscribe(principal, wanted)) {
      return principal.type === 'device' ? 'filter-not-of-device' : 'filter-outside-grants';
    }
    const owner = session.owner.key;
    const subscriptions = session.consumer?.subscriptions;
    if (subscriptions?.has(filter) === true || added.has(filter)) return undefined;
    if (
      added.size < room &&
      (!isShared || this.#hasRoomForGroup(principal, owner, added, filter))
    ) {
      added.add(filter);
      return undefined;
    }
    if (added.size >= room) this.#options.watch.exceeded('subscriptions', owner);
    return 'too-many-subscriptions';
  }

  /** Whether a shared subscription's group exists or may be created: its queue is a persistent session. */
  #hasRoomForGroup(principal: Principal, owner: string, added: Set<string>, name: string): boolean {
    const { sessions, sessionQuota } = this.#options;
    if (sessions.get(sessionKey(owner, name)) !== undefined) return true;
    const opening = [...added].filter((filter) => filter.startsWith(SHARE_PREFIX)).length;
    return sessionQuota.hasRoom(principal, opening);
  }

  /** How many more filters the principal may have; ended ones count while they have a backlog. */
  #roomOf({ principal, session }: Login): number {
    const held = this.#options.sessions
      .ofOwner(session.owner.key)
      .reduce((sum, { consumer }) => sum + (consumer?.subscriptions.size ?? 0), 0);
    return this.#options.quotas[principal.type].subscriptions - held;
  }

  /** Logs the denied filters of a SUBSCRIBE in a single line. */
  #logDenied(
    { session }: Login,
    requested: readonly RequestedFilter[],
    codes: readonly number[],
  ): void {
    const denied = requested.filter((_, index) => isFailure(codes[index] ?? 0));
    if (denied.length === 0) return;
    const filters = denied.slice(0, MAX_LOGGED_FILTERS).map(({ filter }) => filter);
    const which = { clientId: session.clientId, count: denied.length, filters };
    const { key: principal } = session.owner;
    this.#options.log.info({ principal, ...which }, 'subscription denied');
  }
}

/** The failure code in the SUBACK (MQTT 3.1.1, 3.9.3; MQTT 5, 3.9.3). */
function failureOf(code: DeniedReason, version: MqttVersion | undefined): number {
  if (version !== 5) return UNSPECIFIED_ERROR;
  if (code === 'shared-filter-invalid') return TOPIC_FILTER_INVALID;
  return code === 'too-many-subscriptions' ? QUOTA_EXCEEDED : NOT_AUTHORIZED;
}
