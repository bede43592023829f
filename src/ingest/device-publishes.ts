import { createHash } from 'node:crypto';
import type { Forwarder } from '../delivery/forwarder.js';
import type { Receipt, Recorder } from '../delivery/recorder.js';
import type { Router } from '../delivery/router.js';
import type { Alarm } from '../domain/alarms.js';
import { parseAlarm } from '../domain/alarms.js';
import type { DeviceContext } from '../domain/messages.js';
import { alarmText, messageText, withLate } from '../domain/messages.js';
import { forwardedTopic, parsePublishTopic } from '../domain/topics.js';
import type { SiteModel } from '../site/site-model.js';
import type { Rejections } from './rejections.js';

/** When the store takes longer than this, an alarm goes out before it is recorded (CONTRACT 4.4). */
const LIVE_AFTER_MS = 400;

/** A PUBLISH as it came from a device, on a topic of its own. */
export interface DevicePublish {
  readonly deviceId: string;
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  /** At QoS 1 and 2: the packet identifier and the DUP flag. */
  readonly packet: { readonly identifier: number; readonly sentAgain: boolean } | undefined;
  /** At QoS 2, whether it is one that was received before; the store may take its time to say. */
  readonly isRepeated: Promise<boolean>;
}

export interface DevicePublishesOptions {
  readonly model: SiteModel;
  readonly recorder: Recorder;
  readonly router: Router;
  readonly forwarder: Forwarder;
  readonly rejections: Rejections;
  readonly maxAlarmBytes: number;
  readonly now: () => number;
  /** By which ages are measured. */
  readonly steadyNow: () => number;
}

/** The way of a device's publish: parse, enrich from memory, record, forward. */
export class DevicePublishes {
  readonly #options: DevicePublishesOptions;

  constructor(options: DevicePublishesOptions) {
    this.#options = options;
  }

  /**
   * Resolves once the publish may be acknowledged: it is stored, or it cannot be used and that has
   * been told. Rejects when it could not be stored; it must not be acknowledged then.
   *
   * @returns whether it is the store that has taken it
   */
  async accept(publish: DevicePublish): Promise<boolean> {
    const context = this.#options.model.context(publish.deviceId);
    // Deleted a moment ago; its connection is being closed.
    if (context === undefined) return false;
    const receivedAtMs = this.#options.now();
    const target = parsePublishTopic(publish.topic);
    if (target.type === 'alarm') return this.#acceptAlarm(publish, context, receivedAtMs);
    if (await publish.isRepeated) return true;
    if (target.type === 'message') {
      return this.#acceptMessage(publish, target.rest, context, receivedAtMs);
    }
    const reason = target.type === 'unusable' ? target.reason : 'invalid-topic';
    this.#options.rejections.reject(context, reason, { ...publish, receivedAtMs });
    return false;
  }

  async #acceptAlarm(
    publish: DevicePublish,
    context: DeviceContext,
    receivedAtMs: number,
  ): Promise<boolean> {
    const { rejections, maxAlarmBytes } = this.#options;
    const { payload, deviceId } = publish;
    const result =
      payload.length > maxAlarmBytes
        ? { reason: 'payload-too-large' as const }
        : parseAlarm(payload, deviceId, receivedAtMs);
    if ('reason' in result) {
      rejections.reject(context, result.reason, { ...publish, receivedAtMs });
      return false;
    }
    await this.#record(publish, result.alarm, context, receivedAtMs);
    return true;
  }

  async #record(
    publish: DevicePublish,
    alarm: Alarm,
    context: DeviceContext,
    receivedAtMs: number,
  ): Promise<void> {
    const topic = forwardedTopic(context.location.id, context.device.id, `alarms/${alarm.kind}`);
    const payload = Buffer.from(alarmText(alarm, context, receivedAtMs));
    const { recorder, router, steadyNow } = this.#options;
    const steadyAtMs = steadyNow();
    const receipt = receiptOf(publish, alarm);
    const live = setTimeout(() => this.#publishUnrecorded(topic, payload, context), LIVE_AFTER_MS);
    try {
      // Behind the timer: while the store does not answer this, the alarm must go out all the same.
      if (await publish.isRepeated) return;
      const record = { alarm, context, receivedAtMs, steadyAtMs, receipt, topic, payload };
      const { entry, isNew } = await recorder.recordAlarm(record);
      router.appended(entry, isNew);
    } finally {
      clearTimeout(live);
    }
  }

  #publishUnrecorded(topic: string, payload: Buffer, context: DeviceContext): void {
    this.#options.router.publishDirect({
      topic,
      payload: withLate(payload, false),
      qos: 0,
      retain: false,
      locationId: context.location.id,
      groupId: context.group?.id ?? null,
    });
  }

  async #acceptMessage(
    publish: DevicePublish,
    rest: string,
    context: DeviceContext,
    receivedAtMs: number,
  ): Promise<boolean> {
    const text = messageText(publish.payload, context, receivedAtMs);
    await this.#options.forwarder.forward({
      topic: forwardedTopic(context.location.id, context.device.id, rest),
      payload: Buffer.from(text),
      qos: publish.qos === 0 ? 0 : 1,
      retain: publish.retain,
      removesRetained: publish.payload.length === 0,
      receivedAtMs: this.#options.steadyNow(),
      locationId: context.location.id,
      groupId: context.group?.id ?? null,
    });
    return publish.qos > 0 || publish.retain;
  }
}

function receiptOf(publish: DevicePublish, alarm: Alarm): Receipt | undefined {
  if (alarm.idIsStable || publish.packet === undefined) return undefined;
  return {
    packetIdentifier: publish.packet.identifier,
    payloadDigest: createHash('sha1').update(publish.payload).digest('base64'),
    sentAgain: publish.packet.sentAgain,
  };
}
