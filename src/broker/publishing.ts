import type { Logger } from 'pino';
import type { InvalidPublishReason } from '../domain/alarms.js';
import { mayPublish, type Principal, permittedGroups } from '../domain/grants.js';
import { type PublishTarget, parsePublishTopic } from '../domain/topics.js';
import type { AlarmStates } from '../ingest/alarm-states.js';
import type { Commands } from '../ingest/commands.js';
import type { DevicePublishes, PublishDone } from '../ingest/device-publishes.js';
import type { Hubs } from '../ingest/hubs.js';
import type { Presence } from '../ingest/presence.js';
import {
  IMPLEMENTATION_SPECIFIC_ERROR,
  NOT_AUTHORIZED,
  PAYLOAD_FORMAT_INVALID,
  type Refusal,
} from '../mqtt/codes.js';
import { type MessageProperties, propertiesOf } from '../mqtt/message-properties.js';
import type { PublishPacket } from '../mqtt/packets.js';
import { DENIED_REASONS, type DeniedReason } from '../site/access/connection-list.js';
import type { SiteModel } from '../site/site-model.js';
import type { ConnectionDenials } from './admission/connection-denials.js';
import type { Budgets } from './budgets/budgets.js';
import { memoryOf } from './budgets/unstored-publishes.js';
import type { Connection } from './connection.js';

export interface PublishingOptions {
  readonly publishes: DevicePublishes;
  readonly commands: Commands;
  readonly alarmStates: AlarmStates;
  readonly presence: Pick<Presence, 'heard'>;
  readonly hubs: Pick<Hubs, 'unknownDevice'>;
  readonly budgets: Budgets;
  readonly model: SiteModel;
  readonly denials: ConnectionDenials;
  /** The steady clock. */
  readonly steadyNow: () => number;
  readonly log: Logger;
}

/** By the QoS of the publish. */
const ACKNOWLEDGEMENTS = [undefined, 'puback', 'pubrec'] as const;

/** A PUBLISH with its topic parsed. */
interface Publish {
  readonly packet: PublishPacket;
  readonly target: PublishTarget;
  readonly properties: MessageProperties | undefined;
  /** Why its sender may not publish it. */
  readonly denied?: Refusal;
}

/**
 * Takes PUBLISH into the message path, bypassing Aedes.
 *
 * Aedes would acknowledge a publish before anything is stored (dependency-faults.md, 1).
 */
export class Publishing {
  readonly #options: PublishingOptions;

  constructor(options: PublishingOptions) {
    this.#options = options;
  }

  /**
   * Takes a client's PUBLISH.
   *
   * A denied publish is acknowledged, and reported: bridges and home automations announce themselves on topics of their
   * own, and must not lose alarms over that.
   */
  take(connection: Connection, packet: PublishPacket): void {
    const target = parsePublishTopic(packet.topic);
    const { network, principal } = connection;
    if (network.isClosed) return;
    const properties = this.#propertiesOf(packet);
    if (this.#isPermitted(principal, target)) {
      this.#keepOrTurnAway(connection, { packet, target, properties });
      return;
    }
    const code = principal.type === 'device' ? 'topic-not-of-device' : deniedReasonOfToken(target);
    this.#options.denials.publish(connection.peer, packet.topic, code);
    if (target.type === 'alarm') this.#noticeUnknown(principal, packet.topic, target.deviceId);
    const denied = { reasonCode: NOT_AUTHORIZED, reason: DENIED_REASONS[code] };
    this.#keepOrTurnAway(connection, {
      packet,
      target: deniedTarget(principal),
      properties,
      denied,
    });
  }

  /**
   * Takes a client's will.
   *
   * @param done called once the will is stored, or must not be published
   */
  takeWill(principal: Principal, packet: PublishPacket, done: PublishDone): void {
    const target = parsePublishTopic(packet.topic);
    if (!this.#isPermitted(principal, target)) {
      done(true);
      return;
    }
    const properties = this.#propertiesOf(packet);
    this.#forward(principal, { packet, target, properties }, undefined, done);
  }

  #keepOrTurnAway(connection: Connection, publish: Publish): void {
    const { qos } = publish.packet;
    const isAlarm = publish.target.type === 'alarm';
    if (publish.target.type === 'alarm') {
      const { deviceId } = publish.target;
      const budget = this.#options.budgets.of({ type: 'device', id: deviceId });
      connection.chargeAlarm(budget);
    }
    const isState = publish.target.type === 'alarm-state';
    // The report of an unusable publish is stored.
    const isReported = publish.target.type === 'unusable';
    // Anything else at QoS 0 is forwarded immediately; of a retained topic the newest value waits, within its quota.
    const needsRoom = qos > 0 || isAlarm || isState || isReported;
    if (!needsRoom || connection.unstored.keeps(isAlarm, qos)) {
      this.#accept(connection, publish, needsRoom);
    } else {
      connection.unstored.turnAway(isAlarm, qos);
    }
  }

  #accept(connection: Connection, publish: Publish, takesRoom: boolean): void {
    const { qos, messageId } = publish.packet;
    const acknowledge = connection.unstored.take({
      bytes: takesRoom ? memoryOf(bytesOf(publish)) : 0,
      acknowledgement: ACKNOWLEDGEMENTS[qos],
      packetIdentifier: messageId,
    });
    const { denied } = publish;
    const done: PublishDone = (isStored, refused) =>
      acknowledge(isStored, denied ?? refusalOf(refused));
    if (qos === 2) this.#acceptOnce(connection, publish, messageId, done);
    else this.#forward(connection.principal, publish, connection, done);
  }

  /**
   * Accepts a QoS 2 publish once, however often it is repeated [MQTT-4.3.3-2].
   */
  #acceptOnce(
    connection: Connection,
    publish: Publish,
    identifier: number,
    done: PublishDone,
  ): void {
    const { received } = connection.session;
    const { denied } = publish;
    if (!received.add(identifier, done)) return;
    this.#forward(connection.principal, publish, connection, (isStored, refused) => {
      received.resolve(identifier, isStored, refused);
      // After a PUBREC with an error code the client sends no PUBREL (MQTT 5, 4.3.3).
      const isTold = connection.terms.version === 5 && (denied ?? refused) !== undefined;
      if (isTold) received.release(identifier);
    });
  }

  #forward(
    principal: Principal,
    { packet, target, properties }: Publish,
    connection: Connection | undefined,
    done: PublishDone,
  ): void {
    const { topic, payload, qos, retain, dup, messageId } = packet;
    const session = connection?.session;
    const mayBeOwn = session?.consumer?.subscriptions.hasNoLocal === true;
    const publisher = mayBeOwn ? session.key : undefined;
    if (target.type === 'alarm' || target.type === 'message' || target.type === 'unusable') {
      const { deviceId } = target;
      const sentPacket = messageId === 0 ? undefined : { identifier: messageId, isSentAgain: dup };
      if (principal.type === 'token') this.#options.presence.heard(deviceId, principal.id);
      const sent = { topic, payload, qos, retain, packet: sentPacket };
      const publish = { ...sent, deviceId, target, properties, publisher };
      this.#options.publishes.accept(publish, done);
    } else if (principal.type === 'device') {
      done(true);
    } else if (target.type === 'command') {
      const { deviceId, rest } = target;
      const locationIds = [target.locationId];
      const sent = { payload, qos, retain, properties, publisher };
      this.#options.commands.accept({ locationIds, deviceId, rest, ...sent }, done);
    } else if (target.type === 'alarm-state') {
      const { locationId, deviceId } = target;
      const { id: tokenId, grants } = principal;
      const groupIds = permittedGroups(grants, 'responder', locationId);
      const address = connection?.address ?? null;
      const actor = { type: 'access-token', id: tokenId, address, requestId: null } as const;
      const state = { locationId, deviceId, topic, payload, tokenId, groupIds, actor };
      this.#options.alarmStates.accept(state, done);
    } else done(true);
  }

  /** Reports an alarm that a hub publishes for a device that does not exist. */
  #noticeUnknown(principal: Principal, topic: string, deviceId: string): void {
    if (principal.type !== 'token' || this.#options.model.device(deviceId) !== undefined) return;
    if (!principal.grants.some(({ role }) => role === 'publisher')) return;
    // As the hub spells it: it may be no id at all.
    this.#options.hubs.unknownDevice(principal.id, topic.split('/')[1] ?? deviceId);
  }

  /** Undefined for most messages. */
  #propertiesOf(packet: PublishPacket): MessageProperties | undefined {
    const hasNone = packet.properties === undefined && !packet.retain;
    return hasNone ? undefined : propertiesOf(packet, this.#options.steadyNow());
  }

  #isPermitted(principal: Principal, target: PublishTarget): boolean {
    const context =
      target.type === 'unknown' ? undefined : this.#options.model.context(target.deviceId);
    const place = context && { locationId: context.location.id, groupId: context.group?.id };
    return mayPublish(principal, target, place);
  }
}

/** The bytes that a publish costs, in memory and in its sender's budget. */
function bytesOf({ packet }: Publish): number {
  // Properties keep the whole packet in memory, even if they are not passed on.
  return packet.properties === undefined ? packet.payload.length : packet.bytes;
}

/** Where a denied publish goes: a device's to its invalid publishes, any other nowhere. */
function deniedTarget(principal: Principal): PublishTarget {
  if (principal.type !== 'device') return { type: 'unknown' };
  return { type: 'unusable', deviceId: principal.id, reason: 'not-permitted', isAlarm: false };
}

function deniedReasonOfToken({ type }: PublishTarget): DeniedReason {
  if (type === 'alarm-state') return 'alarm-state-without-grant';
  if (type === 'command') return 'command-without-grant';
  return type === 'unknown' ? 'topic-not-of-token' : 'device-without-grant';
}

/** The reasons that concern the payload. */
const OF_PAYLOAD: readonly InvalidPublishReason[] = [
  'payload-too-large',
  'not-json',
  'not-an-object',
  'unknown-kind',
  'contradicting-kind',
  'invalid-footage',
  'invalid-alarm-state',
];

/** The reason code and string for an unusable publish. */
function refusalOf(reason: InvalidPublishReason | undefined): Refusal | undefined {
  if (reason === undefined) return undefined;
  const isOfPayload = OF_PAYLOAD.includes(reason);
  return {
    reasonCode: isOfPayload ? PAYLOAD_FORMAT_INVALID : IMPLEMENTATION_SPECIFIC_ERROR,
    reason,
  };
}
