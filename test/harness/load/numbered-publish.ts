/** Publishes that carry their number and time, so that a reader sees what is missing, late or out of order. */
import { generate } from 'mqtt-packet';
import type { Plan } from './plan.js';

/** Digits of a publish's number: two for the device, seven for its own count. */
const NUMBER_DIGITS = 9;
const PUBLISHES_PER_DEVICE = 10_000_000;
const TIME_DIGITS = 16;
const ID_HEAD = '00000000-0000-4000-8000-000';
const [NUMBER_ANCHOR, TIME_ANCHOR] = [Buffer.from('"n":'), Buffer.from(',"t":')];
const [ID_ANCHOR, DETECTED_ANCHOR] = [Buffer.from(ID_HEAD), Buffer.from('"detectedAt":"')];

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

  constructor(
    { kind, qos, topic }: Pick<Plan, 'kind' | 'qos' | 'topic'>,
    deviceId: string,
    deviceNumber: number,
  ) {
    this.#firstNumber = deviceNumber * PUBLISHES_PER_DEVICE;
    const zeros = '1'.padEnd(NUMBER_DIGITS, '0');
    const numbers = `"n":${zeros},"t":${'1'.padEnd(TIME_DIGITS, '0')}`;
    const id = `"id":"${ID_HEAD}${zeros}"`;
    const detected = `"detectedAt":"${new Date().toISOString()}"`;
    const payload = {
      alarms: `{"kind":"noise",${id},${numbers}}`,
      falls: `{"kind":"fall",${id},${detected},"confidence":0.97,${numbers}}`,
      telemetry: `{${numbers}}`,
    }[kind];
    const own = `devices/{device}/${kind === 'telemetry' ? 'load' : 'alarms'}`;
    const to = (topic ?? own).replace('{device}', deviceId);
    const head = { cmd: 'publish', qos, dup: false, retain: false, messageId: 1 } as const;
    this.#packet = generate({ ...head, topic: to, payload });
    this.#identifierAt = qos === 0 ? undefined : this.#packet.indexOf(to) + to.length;
    this.#numberAt = this.#packet.indexOf(NUMBER_ANCHOR) + NUMBER_ANCHOR.length;
    this.#timeAt = this.#packet.indexOf(TIME_ANCHOR) + TIME_ANCHOR.length;
    this.#idAt = behind(this.#packet, ID_ANCHOR);
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
      // From 1 to 65,535: no more publishes may await an acknowledgement [MQTT-2.3.1-4].
      const identifier = ((first + index - 1) % 65_535) + 1;
      if (this.#identifierAt !== undefined)
        batch.writeUInt16BE(identifier, at + this.#identifierAt);
      for (const place of [this.#numberAt, this.#idAt]) {
        if (place !== undefined) batch.write(number, at + place, 'latin1');
      }
    }
    return batch;
  }
}

/** Where the anchor ends, undefined without one. */
function behind(bytes: Buffer, anchor: Buffer, from = 0): number | undefined {
  const at = bytes.indexOf(anchor, from);
  return at < 0 ? undefined : at + anchor.length;
}

/** The numbers in a forwarded publish; undefined for other messages, such as a device's status. */
export function numberedIn(bytes: Buffer, start: number, end: number) {
  const numberAt = behind(bytes, NUMBER_ANCHOR, start) ?? end;
  const timeAt = numberAt + NUMBER_DIGITS + TIME_ANCHOR.length;
  if (timeAt + TIME_DIGITS > end) return undefined;
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
