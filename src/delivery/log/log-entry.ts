import { asLate } from '../../domain/alarm-payload.js';
import type { Audience } from '../../domain/grants.js';
import { bytesOfProperties, type MessageProperties } from '../../mqtt/message-properties.js';
import type { OutgoingPublish } from '../receiver.js';
import type { Forwarding, QoS } from '../sessions/subscriptions.js';
import type { AlarmLogItem, NewAlarm, NewEvent, NewMessage, NewStateChange } from './log-item.js';

/** The two logs: telemetry has its own and can never push out an alarm. */
export const LOG_NAMES = ['alarms', 'messages'] as const;
export type LogName = (typeof LOG_NAMES)[number];

/** The parts of a message that take memory. */
export interface Sized {
  readonly payload: { readonly length: number };
  readonly properties?: MessageProperties | undefined;
}

/** The size of a message for the bounds of queues, in memory and in the store (lua/append-values.lua). */
export function bytesOfMessage({ payload, properties }: Sized): number {
  return payload.length + (properties === undefined ? 0 : bytesOfProperties(properties));
}

export function isAlarm(item: NewMessage): item is NewAlarm {
  return 'alarm' in item;
}

export function isStateChange(item: NewMessage): item is NewStateChange {
  return 'stateChange' in item;
}

export function isEvent(item: NewMessage): item is NewEvent {
  return 'event' in item;
}

/** A stored message on its way to the consumers whose filters match. */
export interface LogEntry extends Audience {
  readonly log: LogName;
  /** Its number. For an alarm, its number in the history, which has no gaps. */
  readonly sequence: number;
  /** Its number and tag, as queues hold them (`itemOf`); 0 for an entry in no queue. */
  readonly item: number;
  readonly topic: string;
  payload: Buffer;
  readonly receivedAtMs: number;
  readonly properties?: MessageProperties | undefined;
  /** Whether it is not an alarm and so has no `late`. */
  readonly isNeverLate?: boolean | undefined;
  /** The appended item, if this run of the gateway appended it. */
  readonly source?: NewMessage | AlarmLogItem | undefined;
}

/** The part of an item that its entry takes over. */
export function sentOf(item: NewMessage) {
  const { topic, payload, receivedAtMs, locationId, groupId, properties, isNeverLate } = item;
  return { topic, payload, receivedAtMs, locationId, groupId, properties, isNeverLate };
}

/** An alarm forwarded more than this after its receipt is marked `late` (docs/reference/contract.md, 3). */
const LATE_AFTER_MS = 60_000;

/** Services for sending entries. */
export interface SendingServices {
  /** The real time elapsed since a time of the steady clock, as far as known. */
  readonly elapsedSinceMs: (timeMs: number) => number;
  /** Called with each alarm from this run that is sent. */
  readonly alarmSent: (alarm: NewAlarm) => void;
}

/** The payload of an entry that is sent now. */
export function payloadOf(entry: LogEntry, services: SendingServices): Buffer {
  if (entry.log !== 'alarms' || entry.isNeverLate === true) return entry.payload;
  const { source } = entry;
  if (source !== undefined && 'alarm' in source) services.alarmSent(source);
  const isLate = services.elapsedSinceMs(entry.receivedAtMs) > LATE_AFTER_MS;
  return isLate ? asLate(entry.payload) : entry.payload;
}

/** A message as it is sent. */
export interface Sendable {
  readonly topic: string;
  readonly payload: Buffer;
  readonly retain: boolean;
  readonly properties?: MessageProperties | undefined;
  /** As in `NewMessage`. */
  readonly publisher?: string | undefined;
}

/** An entry as it is sent now. */
export function messageOf(entry: LogEntry, services: SendingServices): Sendable {
  const { topic, properties, source } = entry;
  const payload = payloadOf(entry, services);
  return { topic, payload, retain: false, properties, publisher: source?.publisher };
}

/** How it is sent. */
export interface Sending {
  readonly qos: QoS;
  /** 0 at QoS 0. */
  readonly messageId: number;
  readonly dup?: boolean;
  readonly entry?: LogEntry;
}

/**
 * The PUBLISH of a message.
 *
 * @param forwarding what its subscriptions ask for; undefined: the receiver does not speak MQTT 5
 */
export function publishOf(
  { topic, payload, retain, properties }: Sendable,
  { qos, messageId, dup = false, entry }: Sending,
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

const MAX_UINT32 = 0xffffffff;

/** How many tags exist. A tag is the low part of an item, below the number. */
const TAGS = 65_536;

/** The item for a number and its batch's tag, as shared/queues.lua makes it. */
export function itemOf(sequence: number, tag: number): number {
  return sequence * TAGS + tag;
}

/** The number in an item. */
export function sequenceOf(item: number): number {
  return Math.floor(item / TAGS);
}

/** The tag in an item. */
export function tagOf(item: number): number {
  return item % TAGS;
}

/** A tag for a batch. */
export function randomTag(): number {
  return Math.floor(Math.random() * TAGS);
}

/** The newest alarms, in memory. */
export interface Tail {
  /** The number of the newest. */
  readonly last: number;
  /** The number of the oldest in memory; if none is, the number after the newest. */
  readonly first: number;
  /** The alarm that follows this number; undefined when it is not (or no longer) in memory. */
  entryAfter(sequence: number): LogEntry | undefined;
}

/** Reads the history from the store. */
export interface HistoryReader {
  /** The entries after a number, in order: at most `count`; none only at the end. */
  read(afterSequence: number, count: number): Promise<LogEntry[]>;
}

/** A message of a group's queue (MQTT 5, 4.8.2). */
export interface Carried {
  readonly settle: (isRefused: boolean) => void;
}

/** An entry of the queues, or of a group's queue; undefined for a message outside the queues. */
export type Sent = LogEntry | Carried | undefined;

export const isEntry = (sent: Sent): sent is LogEntry => sent !== undefined && 'log' in sent;

/** Identifies an entry each time it is sent; undefined for a message sent only once. */
export const nameOf = (sent: Sent) => (isEntry(sent) ? `${sent.log} ${sent.item}` : undefined);
