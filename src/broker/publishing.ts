import type { Logger } from 'pino';
import type { ReceivedIdentifiers } from '../delivery/sessions/session.js';
import type { InvalidPublishReason } from '../domain/alarm.js';
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
import type { AcknowledgementType } from '../mqtt/encode.js';
import { type MessageProperties, propertiesOf } from '../mqtt/message-properties.js';
import type { PublishPacket } from '../mqtt/packets.js';
import type { SiteModel } from '../site/site-model.js';
import type { Client, Login } from './client.js';
import { DENIED_REASONS, type DeniedReason } from './connection-list.js';
import type { Denied } from './denied.js';
import { type Flow, type Flows, memoryOf } from './flow.js';
import type { PacketWriter } from './writer.js';

export interface PublishingOptions {
  readonly publishes: DevicePublishes;
  readonly commands: Commands;
  readonly alarmStates: AlarmStates;
  readonly presence: Pick<Presence, 'heard'>;
  readonly hubs: Pick<Hubs, 'unknownDevice'>;
  readonly flows: Flows;
  readonly model: SiteModel;
  readonly denied: Denied;
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
  take(client: Client, packet: PublishPacket, acks: PendingAcknowledgements): void {
    const { login } = client;
    if (login === undefined) return;
    const target = parsePublishTopic(packet.topic);
    const { principal } = login;
    const properties = this.#propertiesOf(packet);
    if (this.#isPermitted(principal, target)) {
      this.#keepOrTurnAway(client, login, { packet, target, properties }, acks);
      return;
    }
    const code = principal.type === 'device' ? 'topic-not-of-device' : deniedReasonOfToken(target);
    this.#options.denied.publish(client, packet.topic, code);
    if (target.type === 'alarm') this.#noticeUnknown(principal, packet.topic, target.deviceId);
    const denied = { reasonCode: NOT_AUTHORIZED, reason: DENIED_REASONS[code] };
    const publish = { packet, target: deniedTarget(principal), properties, denied };
    this.#keepOrTurnAway(client, login, publish, acks);
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

  #keepOrTurnAway(
    client: Client,
    login: Login,
    publish: Publish,
    acks: PendingAcknowledgements,
  ): void {
    const { packet, target, denied } = publish;
    const { qos, messageId } = packet;
    const isAlarm = target.type === 'alarm';
    if (target.type === 'alarm') {
      client.chargeAlarm(this.#options.flows.of({ type: 'device', id: target.deviceId }));
    }
    // The report of an unusable publish is stored.
    const isStoredAtQos0 = isAlarm || target.type === 'alarm-state' || target.type === 'unusable';
    // Anything else at QoS 0 is forwarded immediately; of a retained topic the newest value waits, within its quota.
    const needsRoom = qos > 0 || isStoredAtQos0;
    if (needsRoom && !acks.keeps(isAlarm, qos)) {
      acks.turnAway(isAlarm, qos);
      return;
    }
    const bytes = needsRoom ? memoryOf(bytesOf(publish)) : 0;
    const acknowledge = acks.take(bytes, ACKNOWLEDGEMENTS[qos], messageId);
    const done: PublishDone = (isStored, refused) =>
      acknowledge(isStored, denied ?? refusalOf(refused));
    if (qos === 2) this.#forwardOnce(client, login, publish, done);
    else this.#forward(login.principal, publish, client, done);
  }

  /** Forwards a QoS 2 publish once, however often it is repeated [MQTT-4.3.3-2]. */
  #forwardOnce(
    client: Client,
    { session, principal }: Login,
    publish: Publish,
    done: PublishDone,
  ): void {
    const { received } = session;
    const identifier = publish.packet.messageId;
    if (!received.add(identifier, done)) return;
    this.#forward(principal, publish, client, (isStored, refused) => {
      received.resolve(identifier, isStored, refused);
      // After a PUBREC with an error code the client sends no PUBREL (MQTT 5, 4.3.3).
      if (client.version === 5 && (publish.denied ?? refused) !== undefined)
        received.release(identifier);
    });
  }

  #forward(
    principal: Principal,
    { packet, target, properties }: Publish,
    client: Client | undefined,
    done: PublishDone,
  ): void {
    const { topic, payload, qos, retain, dup, messageId } = packet;
    const session = client?.login?.session;
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
      const address = client?.address ?? null;
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

/** A publish whose acknowledgement is pending. */
interface Pending {
  readonly type: AcknowledgementType;
  readonly packetIdentifier: number;
  isStored: boolean;
  refusal: Refusal | undefined;
}

/**
 * Acknowledges a connection's publishes once they are stored, in the order in which they came [MQTT-4.6.0-2],
 * [MQTT-4.6.0-3].
 */
export class PendingAcknowledgements {
  readonly #flow: Flow;
  readonly #writer: PacketWriter;
  readonly #end: () => void;
  /** In the order of the publishes. */
  readonly #pending = new Set<Pending>();
  #hasTurnedAway = false;
  #hasTurnedAwayAlarm = false;

  /** @param end ends the connection, so that the client resends what was not acknowledged */
  constructor(flow: Flow, writer: PacketWriter, end: () => void) {
    this.#flow = flow;
    this.#writer = writer;
    this.#end = end;
  }

  /**
   * Whether a publish can be kept until it is stored.
   *
   * After a QoS 1 or 2 publish was turned away, later ones of its kind are not kept either: the client resends them in
   * order.
   */
  keeps(isAlarm: boolean, qos: number): boolean {
    const isOutOfTurn = isAlarm ? this.#hasTurnedAwayAlarm : this.#hasTurnedAway;
    return !(isOutOfTurn && qos > 0) && this.#flow.keeps(isAlarm);
  }

  /**
   * Turns away a publish that cannot be kept.
   *
   * No later publish is acknowledged, even if it is stored [MQTT-4.6.0-2]. Once there is room again the connection ends
   * (`check`), and the client resends the publish.
   */
  turnAway(isAlarm: boolean, qos: number): void {
    this.#flow.noteUnkept();
    if (qos === 0) return;
    this.#hasTurnedAway = true;
    if (isAlarm) this.#hasTurnedAwayAlarm = true;
  }

  /** Ends the connection once what was turned away can be resent. */
  check(): void {
    if (this.#hasTurnedAway && this.#pending.size === 0 && this.#flow.isRelieved) this.#end();
  }

  /**
   * Takes room for a publish. The returned function must be called with the outcome.
   *
   * @param type undefined at QoS 0
   */
  take(
    bytes: number,
    type: AcknowledgementType | undefined,
    packetIdentifier: number,
  ): (isStored: boolean, refusal?: Refusal) => void {
    const release = this.#flow.take(bytes);
    const isPending = type !== undefined && !this.#hasTurnedAway;
    const pending: Pending | undefined = isPending
      ? { type, packetIdentifier, isStored: false, refusal: undefined }
      : undefined;
    if (pending !== undefined) this.#pending.add(pending);
    return (isStored, refusal) => {
      release();
      if (!isStored) this.#end();
      else if (pending !== undefined) {
        pending.isStored = true;
        pending.refusal = refusal;
        this.#acknowledge();
      }
    };
  }

  /** Takes PUBREL: forgets the packet identifier, then sends PUBCOMP [MQTT-4.3.3-2]. */
  release(received: ReceivedIdentifiers, packetIdentifier: number): void {
    const release = this.#flow.take(memoryOf(0));
    // A client that does not wait for PUBREC: its publish may still be on its way to the store.
    received.release(packetIdentifier, () => {
      release();
      this.#writer.acknowledge('pubcomp', packetIdentifier);
    });
  }

  #acknowledge(): void {
    for (const pending of this.#pending) {
      if (!pending.isStored) return;
      this.#pending.delete(pending);
      this.#writer.acknowledge(pending.type, pending.packetIdentifier, pending.refusal);
    }
  }
}
