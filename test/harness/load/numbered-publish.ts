import { generate } from 'mqtt-packet';
import type { Plan } from './plan.js';

/** Digits of a publish's number: two for the device, seven for its own count. */
const NUMBER_DIGITS = 9;
const PUBLISHES_PER_DEVICE = 10_000_000;
const TIME_DIGITS = 16;
const ID_HEAD = '00000000-0000-4000-8000-000';
const NUMBER_ANCHOR = Buffer.from('"n":');
const TIME_ANCHOR = Buffer.from(',"t":');
const DETECTED_ANCHOR = Buffer.from('"detectedAt":"');

type NumberedPlan = Pick<Plan, 'kind' | 'qos' | 'topic' | 'paddingBytes'>;

/** The template packet of a device's publishes; number, time and packet identifier are filled in. */
export class NumberedPublish {
  readonly #packet: Buffer;
  readonly #firstNumber: number;
  /** A publish at QoS 0 has none [MQTT-2.3.1-5]. */
  readonly #identifierAt: number | undefined;
  readonly #numberAt: number;
  readonly #timeAt: number;
  /** Where the number in an alarm's id begins: it makes the id unique. */
  readonly #idAt: number | undefined;
  readonly #detectedAt: number | undefined;

  constructor(plan: NumberedPlan, deviceId: string, deviceNumber: number) {
    const { kind, qos } = plan;
    this.#firstNumber = deviceNumber * PUBLISHES_PER_DEVICE;
    const zeros = '1'.padEnd(NUMBER_DIGITS, '0');
    const padding =
      plan.paddingBytes === undefined ? '' : `,"p":"${'x'.repeat(plan.paddingBytes)}"`;
    const numbers = `"n":${zeros},"t":${'1'.padEnd(TIME_DIGITS, '0')}${padding}`;
    const id = `"id":"${ID_HEAD}${zeros}"`;
    const detected = `"detectedAt":"${new Date().toISOString()}"`;
    const payload = {
      alarms: `{"kind":"noise",${id},${numbers}}`,
      falls: `{"kind":"fall",${id},${detected},"confidence":0.97,${numbers}}`,
      telemetry: `{${numbers}}`,
    }[kind];
    const ownTopic = `devices/{device}/${kind === 'telemetry' ? 'load' : 'alarms'}`;
    const topic = (plan.topic ?? ownTopic).replace('{device}', deviceId);
    const head = { cmd: 'publish', qos, dup: false, retain: false } as const;
    this.#packet = generate({ ...head, topic, payload, messageId: 1 });
    this.#identifierAt = qos === 0 ? undefined : this.#packet.indexOf(topic) + topic.length;
    this.#numberAt = this.#packet.indexOf(NUMBER_ANCHOR) + NUMBER_ANCHOR.length;
    this.#timeAt = this.#packet.indexOf(TIME_ANCHOR) + TIME_ANCHOR.length;
    this.#idAt = behind(this.#packet, Buffer.from(ID_HEAD));
    this.#detectedAt = behind(this.#packet, DETECTED_ANCHOR);
  }

  get length(): number {
    return this.#packet.length;
  }

  /** Consecutive packets of the device, starting with this publish (the first is 1). */
  batch(first: number, count: number): Buffer {
    const { length } = this.#packet;
    this.#packet.write(String(nowMicroseconds()), this.#timeAt, 'latin1');
    if (this.#detectedAt !== undefined) {
      this.#packet.write(new Date().toISOString(), this.#detectedAt, 'latin1');
    }
    const batch = Buffer.allocUnsafe(length * count);
    for (let index = 0; index < count; index++) {
      const at = index * length;
      const number = String(this.#firstNumber + first + index);
      this.#packet.copy(batch, at);
      if (this.#identifierAt !== undefined) {
        batch.writeUInt16BE(packetIdentifier(first + index), at + this.#identifierAt);
      }
      batch.write(number, at + this.#numberAt, 'latin1');
      if (this.#idAt !== undefined) batch.write(number, at + this.#idAt, 'latin1');
    }
    return batch;
  }
}

/** Where the anchor ends, undefined without one. */
function behind(bytes: Buffer, anchor: Buffer): number | undefined {
  const at = bytes.indexOf(anchor);
  return at < 0 ? undefined : at + anchor.length;
}

/** Cycles from 1 to 65,535: no more publishes may await an acknowledgement [MQTT-2.3.1-4]. */
function packetIdentifier(publish: number): number {
  return ((publish - 1) % 65_535) + 1;
}

/** The numbers in a forwarded publish. */
export interface Numbered {
  readonly deviceNumber: number;
  readonly publish: number;
  readonly sentAtMicroseconds: number;
}

/** Parses a publish of a load; undefined for other messages, such as a device's status. */
export function numberedIn(bytes: Buffer, start: number, end: number): Numbered | undefined {
  const numberAt = bytes.indexOf(NUMBER_ANCHOR, start) + NUMBER_ANCHOR.length;
  const timeAt = numberAt + NUMBER_DIGITS + TIME_ANCHOR.length;
  if (numberAt < start + NUMBER_ANCHOR.length || timeAt + TIME_DIGITS > end) return undefined;
  const number = digits(bytes, numberAt, NUMBER_DIGITS);
  return {
    deviceNumber: Math.floor(number / PUBLISHES_PER_DEVICE),
    publish: number % PUBLISHES_PER_DEVICE,
    sentAtMicroseconds: digits(bytes, timeAt, TIME_DIGITS),
  };
}

function digits(bytes: Buffer, at: number, count: number): number {
  let value = 0;
  for (let index = at; index < at + count; index++) value = value * 10 + (bytes[index] ?? 0) - 0x30;
  return value;
}

/** A steady clock with 16 digits. */
export function nowMicroseconds(): number {
  return Math.round((performance.timeOrigin + performance.now()) * 1000);
}
