/**
 * A message on its way: as it came in (`Message`), on a queue (`Entry`), and as a PUBLISH to one receiver
 * (`OutgoingPublish`).
 */
import { asLate } from '../domain/alarm.js';
import type { Audience } from '../domain/grants.js';
import { bytesOfProperties, type MessageProperties } from '../mqtt/message-properties.js';
import type { NewAlarm, NewEntry } from './new-entry.js';
import type { Forwarding, QoS } from './sessions/subscriptions.js';

/** A message on its way to its subscribers. */
export interface Message extends Audience {
  readonly topic: string;
  /** The forwarded text; for an alarm with `"late":false`. */
  payload: Buffer;
  /** By the steady clock, which decides expiry and `late`. */
  readonly receivedAtMs: number;
  /** 1 if left out. */
  readonly qos?: QoS | undefined;
  readonly retain?: boolean | undefined;
  readonly properties?: MessageProperties | undefined;
  /** `sessionKey` of the publisher, if one of its subscriptions is No Local (MQTT 5, 3.8.3.1). */
  readonly publisher?: string | undefined;
  /** Of a command: the location of its device when it was given. */
  readonly givenIn?: string | undefined;
}

/**
 * The two queues of a consumer. Alarms, states, events and commands are entries of the history, in the store; all other
 * messages wait in memory and can never push out an alarm.
 */
export const LOG_NAMES = ['alarms', 'messages'] as const;
export type LogName = (typeof LOG_NAMES)[number];

/** A message in a queue. */
export interface Entry extends Message {
  readonly log: LogName;
  /** Its number in the history; 0 for a message that is in none. */
  readonly sequence: number;
  /** Whether it is not an alarm and so has no `late`. */
  readonly isNeverLate?: boolean | undefined;
  /** The appended entry, if this run of the gateway appended it. */
  readonly source?: NewEntry | undefined;
}

/** The size of a message for the bounds of queues. */
export function bytesOfMessage({
  payload,
  properties,
}: {
  readonly payload: { readonly length: number };
  readonly properties?: MessageProperties | undefined;
}): number {
  return payload.length + (properties === undefined ? 0 : bytesOfProperties(properties));
}

/** An alarm forwarded more than this after its receipt is marked `late` (contract 3). */
const LATE_AFTER_MS = 60_000;

/** Services for sending entries. */
export interface SendingServices {
  /** The real time elapsed since a time of the steady clock, as far as known. */
  readonly elapsedSinceMs: (timeMs: number) => number;
  /** Called with each alarm from this run that is sent. */
  readonly alarmSent: (alarm: NewAlarm) => void;
}

/** An entry as it is sent now: an alarm may have become late. */
export function asSentNow(entry: Entry, { alarmSent, elapsedSinceMs }: SendingServices): Message {
  const { log, isNeverLate, source, payload, receivedAtMs } = entry;
  if (log !== 'alarms' || isNeverLate === true) return entry;
  if (source !== undefined && 'alarm' in source) alarmSent(source);
  return elapsedSinceMs(receivedAtMs) > LATE_AFTER_MS
    ? { ...entry, payload: asLate(payload) }
    : entry;
}

/** One PUBLISH on its way to a client. */
export interface OutgoingPublish {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: 0 | 1;
  readonly retain: boolean;
  readonly dup: boolean;
  /** The packet identifier at QoS 1, 0 at QoS 0. */
  readonly messageId: number;
  /** Encoded MQTT 5 properties. */
  readonly fields?: Buffer | undefined;
  /** Seconds until the message expires (MQTT 5, 3.3.2.3.3). */
  readonly expirySeconds?: number | undefined;
  /** Those of all matching subscriptions. */
  readonly subscriptionIdentifiers?: readonly number[] | undefined;
  /** Undefined for a message outside the queues. */
  readonly entry?: Entry | undefined;
}

const MAX_UINT32 = 0xffffffff;

/**
 * The PUBLISH of a message.
 *
 * @param forwarding what its subscriptions ask for; undefined: the receiver does not speak MQTT 5
 */
export function publishOf(
  { topic, payload, retain = false, properties }: Message,
  { qos, messageId, dup, entry }: Pick<OutgoingPublish, 'qos' | 'messageId' | 'dup' | 'entry'>,
  forwarding: Forwarding | undefined,
  now: () => number,
): OutgoingPublish {
  const plain = { topic, payload, retain, qos, messageId, dup, entry };
  if (forwarding === undefined) return plain;
  const { isRetainAsPublished, identifiers } = forwarding;
  const expiresAtMs = properties?.expiresAtMs;
  return {
    ...plain,
    retain: retain || (isRetainAsPublished && properties?.isRetained === true),
    fields: properties?.fields,
    // [MQTT-3.3.2-6]
    expirySeconds: expiresAtMs && secondsUntil(expiresAtMs, now()),
    subscriptionIdentifiers: identifiers,
  };
}

/** Clamped to what a packet can hold: the clock may have gone back. */
function secondsUntil(timeMs: number, nowMs: number): number {
  return Math.min(MAX_UINT32, Math.max(1, Math.round((timeMs - nowMs) / 1_000)));
}

/** The connection that receives a consumer's messages. */
export interface Receiver {
  /** False while earlier messages still wait for the network. */
  readonly isWritable: boolean;
  /** Whether it takes MQTT 5 properties. */
  readonly takesProperties?: boolean;
  /** The receiver's own in-flight limit, if it has stated one. */
  readonly maxInFlight?: number | undefined;
  /** Returns false for a message that is too large for the receiver, now and always. */
  send(publish: OutgoingPublish): boolean;
}

/** Gives a message its own memory: a small payload would keep alive the whole buffer that it is part of. */
export function ownPayload(message: { payload: Buffer }): void {
  const { payload } = message;
  if (payload.buffer.byteLength !== payload.length) message.payload = copyOf(payload);
}

/** A copy in memory of its own. */
export function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}
