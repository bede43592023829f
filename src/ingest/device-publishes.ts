import { hash } from 'node:crypto';
import type { Forwarder } from '../delivery/forwarder.js';
import type { NewAlarm, Receipt } from '../delivery/new-entry.js';
import type { Writer } from '../delivery/writer.js';
import {
  type Alarm,
  type AlarmKind,
  alarmText,
  type InvalidPublishReason,
  parseAlarm,
} from '../domain/alarm.js';
import { fault } from '../domain/fault.js';
import { type DeviceContext, messageText } from '../domain/messages.js';
import { type Escalation, escalationsOf } from '../domain/rules.js';
import { type DeviceTarget, forwardedTopic } from '../domain/topics.js';
import type { MessageProperties } from '../mqtt/message-properties.js';
import type { Health } from '../site/health/health.js';
import type { SiteModel } from '../site/site-model.js';
import type { InvalidPublishes } from './invalid-publishes.js';

/** A device's PUBLISH on a topic of its own. */
export interface DevicePublish {
  readonly deviceId: string;
  readonly topic: string;
  readonly target: DeviceTarget;
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  /** At QoS 1 and 2: the packet identifier and the DUP flag. */
  readonly packet: { readonly identifier: number; readonly isSentAgain: boolean } | undefined;
  readonly properties: MessageProperties | undefined;
  /** As in `Message`. */
  readonly publisher: string | undefined;
  /** Whether the gateway itself raises an alarm to see whether alarms arrive. */
  readonly isTest?: true;
}

export interface DevicePublishesOptions {
  readonly model: SiteModel;
  readonly writer: Pick<Writer, 'append'>;
  readonly forwarder: Pick<Forwarder, 'forward'>;
  readonly invalid: Pick<InvalidPublishes, 'report'>;
  readonly unreadable: Pick<UnreadableDevices, 'deviceIds'>;
  readonly maxAlarmBytes: number;
  /** Those of the configuration as it is now. */
  readonly escalations: () => readonly Escalation[];
  readonly now: () => number;
  /** The steady clock. */
  readonly steadyNow: () => number;
}

/** Takes a device's publish: parse, enrich from memory, record, forward. */
export class DevicePublishes {
  readonly #options: DevicePublishesOptions;
  readonly #topics = new AlarmTopics();

  constructor(options: DevicePublishesOptions) {
    this.#options = options;
  }

  /**
   * Takes a publish.
   *
   * @param done called with true once the publish may be acknowledged: it is stored, or invalid and
   *   reported; with false when it could not be stored
   */
  accept(publish: DevicePublish, done: PublishDone): void {
    const context = this.#options.model.context(publish.deviceId);
    if (context === undefined) {
      // The device has just been deleted; its connection is being closed.
      done(true);
      return;
    }
    const { target } = publish;
    switch (target.type) {
      case 'alarm':
        this.#acceptAlarm(publish, target.kind, context, done);
        break;
      case 'message':
        this.#acceptMessage(publish, target.rest, context, done);
        break;
      case 'unusable':
        if (target.isAlarm) this.#options.unreadable.deviceIds.add(publish.deviceId);
        this.#report(publish, target.reason, context, this.#options.now(), done);
    }
  }

  #acceptAlarm(
    publish: DevicePublish,
    kind: AlarmKind | undefined,
    context: DeviceContext,
    done: PublishDone,
  ): void {
    const { unreadable, maxAlarmBytes, now } = this.#options;
    const { payload, deviceId } = publish;
    const receivedAtMs = now();
    const result =
      payload.length > maxAlarmBytes
        ? { reason: 'payload-too-large' as const }
        : parseAlarm(payload, { deviceId, kind, receivedAtMs });
    if ('reason' in result) {
      unreadable.deviceIds.add(deviceId);
      this.#report(publish, result.reason, context, receivedAtMs, done);
      return;
    }
    const alarm = publish.isTest ? { ...result.alarm, isTest: true } : result.alarm;
    this.#record(publish, alarm, context, receivedAtMs, done);
    if (result.flaw === undefined) {
      unreadable.deviceIds.delete(deviceId);
    } else this.#report(publish, result.flaw, context, receivedAtMs, () => undefined);
  }

  #report(
    publish: DevicePublish,
    reason: InvalidPublishReason,
    context: DeviceContext,
    receivedAtMs: number,
    done: PublishDone,
  ): void {
    const { topic, payload } = publish;
    const invalid = { reason, topic, payload, receivedAtMs };
    this.#options.invalid.report(context, invalid, (isStored) => done(isStored, reason));
  }

  #record(
    publish: DevicePublish,
    alarm: Alarm,
    context: DeviceContext,
    wallReceivedAtMs: number,
    done: PublishDone,
  ): void {
    const { writer, steadyNow } = this.#options;
    const escalations = this.#options.escalations();
    const locationId = context.location.id;
    const receivedAtMs = steadyNow();
    const entry: NewAlarm = {
      topic: this.#topics.of(context, alarm.kind),
      payload: Buffer.from(alarmText(alarm, context.text, wallReceivedAtMs)),
      receivedAtMs,
      wallReceivedAtMs,
      alarm,
      context,
      receipt: receiptOf(publish, alarm),
      // An alarm expires as all alarms do, and is never retained, whatever its sender asked for.
      properties: publish.properties && {
        ...publish.properties,
        expiresAtMs: undefined,
        isRetained: false,
      },
      publisher: publish.publisher,
      locationId,
      groupId: context.group?.id ?? null,
      escalations:
        escalations.length === 0
          ? undefined
          : escalationsOf(escalations, alarm, locationId, receivedAtMs),
      isSent: false,
    };
    writer.append(entry, (isStored) => done(isStored));
  }

  #acceptMessage(
    publish: DevicePublish,
    rest: string,
    context: DeviceContext,
    done: PublishDone,
  ): void {
    const { forwarder, now, steadyNow } = this.#options;
    forwarder.forward(
      {
        topic: forwardedTopic(context.location.id, context.device.id, rest),
        payload: Buffer.from(messageText(publish.payload, context, now())),
        qos: publish.qos === 0 ? 0 : 1,
        retain: publish.retain,
        properties: publish.properties,
        publisher: publish.publisher,
        receivedAtMs: steadyNow(),
        locationId: context.location.id,
        groupId: context.group?.id ?? null,
      },
      done,
      publish.payload.length === 0,
    );
  }
}

/** One string for all alarms of a device and kind: finding routes is faster by the same string than by an equal one. */
class AlarmTopics {
  readonly #topics = new WeakMap<DeviceContext, Map<AlarmKind, string>>();

  of(context: DeviceContext, kind: AlarmKind): string {
    const ofDevice = this.#topics.get(context) ?? new Map<AlarmKind, string>();
    const known = ofDevice.get(kind);
    if (known !== undefined) return known;
    const topic = forwardedTopic(context.location.id, context.device.id, `alarms/${kind}`);
    this.#topics.set(context, ofDevice.set(kind, topic));
    return topic;
  }
}

function receiptOf(publish: DevicePublish, alarm: Alarm): Receipt | undefined {
  if (alarm.idIsStable || publish.packet === undefined) return undefined;
  return {
    packetIdentifier: publish.packet.identifier,
    payloadDigest: hash('sha1', publish.payload, 'base64'),
    isSentAgain: publish.packet.isSentAgain,
  };
}

/**
 * Called when a publish may be acknowledged, or with `false` when it could not be stored.
 *
 * @param refused why it cannot be used; that is reported
 */
export type PublishDone = (isStored: boolean, refused?: InvalidPublishReason) => void;

export const UNREADABLE_CHECK_MS = 1_000;

/** Devices whose last alarm could not be used: a fault for each until it sends a good one. */
export class UnreadableDevices {
  readonly #model: SiteModel;
  readonly #health: Pick<Health, 'replace'>;
  readonly deviceIds = new Set<string>();

  constructor(model: SiteModel, health: Pick<Health, 'replace'>) {
    this.#model = model;
    this.#health = health;
  }

  /** Reports the faults; call it every `UNREADABLE_CHECK_MS`. */
  check(): void {
    const faults = Array.from(this.deviceIds, (id) => {
      const subject = { type: 'device' as const, id, name: this.#model.device(id)?.name ?? id };
      return { ...fault('deviceUnreadable'), subject };
    });
    this.#health.replace('device-unreadable', faults);
  }
}
