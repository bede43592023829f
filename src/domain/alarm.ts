/** Alarms: their kinds, what a device may send as one, and how they are forwarded (contract 3). */

import { derivedId, isUuid, newId } from './ids.js';
import { composeObject, isObject, objectMembers, own, parseJson, payloadText } from './json.js';
import { formatTime, type Instant, PLAUSIBLE_FROM_MS, parseInstant } from './time.js';

/** A detection time further ahead than this is plainly wrong (contract 3). */
const MAX_AHEAD_MS = 5 * 60_000;
const MAX_FOOTAGE_KEY_LENGTH = 512;

export const ALARM_KINDS = [
  'outOfBed',
  'outOfRoom',
  'outOfSeat',
  'helpCall',
  'fall',
  'noise',
  'wandering',
  'inactivity',
] as const;
export type AlarmKind = (typeof ALARM_KINDS)[number];

export const FOOTAGE_TYPES = ['video', 'audio'] as const;
export type FootageType = (typeof FOOTAGE_TYPES)[number];

/** An alarm as a device sent it. */
export interface Alarm {
  readonly id: string;
  readonly kind: AlarmKind;
  readonly detectedAtMs: number;
  /** JSON text of the detection time as sent, if it is plainly wrong. */
  readonly reportedAt: string | undefined;
  /** Object keys of the recordings. */
  readonly footage: Readonly<Partial<Record<FootageType, string>>>;
  /** JSON text: the object of all other fields, or what came with a kind in the topic; undefined for none. */
  readonly data: string | undefined;
  /** The payload in base64, if it is not JSON. */
  readonly base64?: string | undefined;
  /** Whether the payload should have been JSON, and only its kind could be read. */
  readonly isMalformed?: boolean | undefined;
  /** Whether the gateway itself raised it, to see whether alarms arrive. A device's own `test` is one of its `data`. */
  readonly isTest?: boolean | undefined;
  /**
   * Whether the same publish sent again gives the same `id`.
   *
   * Otherwise only the packet identifier tells a retransmission from a second alarm.
   */
  readonly idIsStable: boolean;
}

/** Why a publish is invalid: the `reason` on the `rejected` topics. */
export const INVALID_PUBLISH_REASONS = [
  'payload-too-large',
  'not-json',
  'not-an-object',
  'unknown-kind',
  'invalid-footage',
  'contradicting-kind',
  'reserved-topic',
  'invalid-topic',
  'not-permitted',
  'invalid-alarm-state',
  'unknown-alarm',
  'alarm-resolved',
] as const;
export type InvalidPublishReason = (typeof INVALID_PUBLISH_REASONS)[number];

/** An alarm, with the reason why a part of it cannot be used; or why there is no alarm. */
export type AlarmResult =
  | { readonly alarm: Alarm; readonly flaw?: InvalidPublishReason | undefined }
  | { readonly reason: InvalidPublishReason };

/** The context of an alarm's payload. */
export interface AlarmOrigin {
  readonly deviceId: string;
  /** The kind in the topic; undefined: the payload has it. */
  readonly kind: AlarmKind | undefined;
  readonly receivedAtMs: number;
}

/**
 * Parses the payload of `devices/<deviceId>/alarms` or `devices/<deviceId>/alarms/<kind>`.
 *
 * Lenient, because no alarm must be lost over a detail: a wrong time is replaced, an `id` that is not
 * a UUID is kept in `data`, unusable footage is left out, and a payload that is not JSON needs only a kind.
 */
export function parseAlarm(payload: Buffer, origin: AlarmOrigin): AlarmResult {
  const text = payloadText(payload);
  const value = text === undefined ? undefined : parseJson(text);
  if (text === undefined || value === undefined) return alarmOfBytes(payload, origin);
  if (isObject(value)) return alarmOfObject(text, value, origin);
  if (origin.kind === undefined) return { reason: 'not-an-object' };
  return { alarm: { ...bareAlarm(origin.kind, origin), data: text } };
}

/** An alarm without any JSON fields. */
function bareAlarm(kind: AlarmKind, { receivedAtMs }: AlarmOrigin): Alarm {
  return {
    id: newId(),
    kind,
    detectedAtMs: receivedAtMs,
    reportedAt: undefined,
    footage: NO_FOOTAGE,
    data: undefined,
    idIsStable: false,
  };
}

const KIND_IN_BYTES = new RegExp(`["']kind["']\\s*:\\s*["'](${ALARM_KINDS.join('|')})["']`);

/** The alarm of a payload that is not JSON: cut off, in another encoding, or with a bare `nan`. */
function alarmOfBytes(payload: Buffer, origin: AlarmOrigin): AlarmResult {
  const base64 = payload.toString('base64');
  if (origin.kind !== undefined) return { alarm: { ...bareAlarm(origin.kind, origin), base64 } };
  const kind = knownKind(KIND_IN_BYTES.exec(payload.toString('latin1'))?.[1]);
  if (kind === undefined) return { reason: 'not-json' };
  return { alarm: { ...bareAlarm(kind, origin), base64, isMalformed: true }, flaw: 'not-json' };
}

function alarmOfObject(text: string, value: object, origin: AlarmOrigin): AlarmResult {
  const { deviceId, receivedAtMs } = origin;
  const sentKind = own(value, 'kind') ?? undefined;
  const kind = origin.kind ?? knownKind(sentKind);
  if (kind === undefined) return { reason: 'unknown-kind' };
  if (sentKind !== undefined && sentKind !== kind) return { reason: 'contradicting-kind' };
  const { footage, isUsable } = parseFootage(own(value, 'footage'), deviceId);

  const sentTime = own(value, 'detectedAt');
  const believed = believedTime(sentTime, receivedAtMs);
  const sentId = own(value, 'id');
  const isIdUsed = sentId === undefined || sentId === null || isUuidText(sentId);
  const isTimeReported = believed === undefined && sentTime !== undefined && sentTime !== null;
  // Scans for the original texts only if it keeps some of them.
  const hasRest = Object.keys(value).some((key) => !KNOWN_KEYS.has(key));
  const members =
    hasRest || !isIdUsed || isTimeReported ? (objectMembers(text) ?? NO_MEMBERS) : NO_MEMBERS;
  const { id, isStable } = identify(deviceId, kind, believed, sentId, members.get('id'));
  return {
    alarm: {
      id,
      kind,
      detectedAtMs: believed?.timeMs ?? receivedAtMs,
      reportedAt: isTimeReported ? members.get('detectedAt') : undefined,
      footage,
      data: hasRest || !isIdUsed ? dataOf(members, isIdUsed) : undefined,
      idIsStable: isStable,
    },
    flaw: isUsable ? undefined : 'invalid-footage',
  };
}

const KNOWN_KEYS: ReadonlySet<string> = new Set(['kind', 'id', 'detectedAt', 'footage']);
const NO_MEMBERS: ReadonlyMap<string, string> = new Map();

function knownKind(sent: unknown): AlarmKind | undefined {
  return ALARM_KINDS.find((kind) => kind === sent);
}

/** The JSON text of all fields that the gateway does not interpret. */
function dataOf(members: ReadonlyMap<string, string>, isIdUsed: boolean): string {
  const isKept = (key: string) => !KNOWN_KEYS.has(key) || (key === 'id' && !isIdUsed);
  return composeObject([...members].filter(([key]) => isKept(key)));
}

function believedTime(sent: unknown, receivedAtMs: number): Instant | undefined {
  const instant = typeof sent === 'string' ? parseInstant(sent) : undefined;
  if (instant === undefined || instant.timeMs > receivedAtMs + MAX_AHEAD_MS) return undefined;
  return instant.timeMs < PLAUSIBLE_FROM_MS ? undefined : instant;
}

/** Firmware without an id sends nil or max (RFC 9562, 5.9 and 5.10). */
const NO_ID = /^(?:[0-]+|[f-]+)$/i;

function isUuidText(value: unknown): value is string {
  return typeof value === 'string' && isUuid(value) && !NO_ID.test(value);
}

/**
 * Takes the id as sent, derives one, or makes a new one.
 *
 * A derived id must never merge two alarms. Without a plausible time, no id can be derived: a device
 * whose clock stands still would have a single alarm for ever, and so would a device that sends the
 * same text as its id each time, or counts from one again after a restart.
 * @param sentText JSON text of an `id` that is not a UUID
 */
function identify(
  deviceId: string,
  kind: AlarmKind,
  believed: Instant | undefined,
  sent: unknown,
  sentText: string | undefined,
): { readonly id: string; readonly isStable: boolean } {
  if (isUuidText(sent)) return { id: sent.toLowerCase(), isStable: true };
  if (believed === undefined) return { id: newId(), isStable: false };
  const { timeMs, finerDigits } = believed;
  // Two falls within one millisecond are two alarms. Without finer digits the form is that of ids in old histories.
  const event = finerDigits === '' ? `${kind}/${timeMs}` : `${kind}/${timeMs}.${finerDigits}`;
  const name = sent === undefined || sent === null ? event : `id/${sentText}/${event}`;
  return { id: derivedId(deviceId, name), isStable: true };
}

const NO_FOOTAGE: Alarm['footage'] = {};

/** Parses `footage`; an empty key means none. Leaves out anything but recordings of the device. */
function parseFootage(
  sent: unknown,
  deviceId: string,
): { readonly footage: Alarm['footage']; readonly isUsable: boolean } {
  if (sent === undefined || sent === null) return { footage: NO_FOOTAGE, isUsable: true };
  // An empty array is usable: PHP writes an empty object like this.
  const isList = Array.isArray(sent) && sent.length > 0;
  if (typeof sent !== 'object' || isList) return { footage: NO_FOOTAGE, isUsable: false };
  const footage: Partial<Record<FootageType, string>> = {};
  let isUsable = true;
  for (const type of FOOTAGE_TYPES) {
    const sentKey = own(sent, type);
    if (sentKey === undefined || sentKey === null || sentKey === '') continue;
    const ownId = new RegExp(deviceId, 'i');
    const key = typeof sentKey === 'string' ? sentKey.replace(ownId, deviceId) : '';
    if (isOwnFootageKey(key, deviceId)) footage[type] = key;
    else isUsable = false;
  }
  return { footage, isUsable };
}

/** Whether an object key lies under the device's own prefix, with or without `devices/` before it. */
export function isOwnFootageKey(key: string, deviceId: string): boolean {
  const levels = key.split('/');
  const inside = levels[0] === 'devices' ? levels.slice(1) : levels;
  return (
    key.length <= MAX_FOOTAGE_KEY_LENGTH &&
    /^[\x21-\x7e]+$/.test(key) &&
    !key.includes('\\') &&
    inside.length >= 2 &&
    inside[0] === deviceId &&
    levels.every((level) => level !== '' && level !== '.' && level !== '..')
  );
}

/** The part of an alarm that its forwarded message shows. */
export type ForwardedAlarm = Omit<Alarm, 'idIsStable'>;

const LATE = ',"late":true}';
const NOT_LATE = ',"late":false}';
const NOT_LATE_BYTES = NOT_LATE.length;

/**
 * Renders `care-homes/<l>/devices/<d>/alarms/<kind>`, with `"late":false`.
 *
 * @param contextText `DeviceContext.text` at the time of the alarm: live from memory, later from its record
 */
export function alarmText(
  alarm: ForwardedAlarm,
  contextText: string,
  receivedAtMs: number,
): string {
  return `{${alarmMembers(alarm, receivedAtMs)},${contextText}${NOT_LATE}`;
}

/** The members of an alarm's JSON before the device's place, without `late`. */
export function alarmMembers(alarm: ForwardedAlarm, receivedAtMs: number): string {
  const { id, kind, detectedAtMs, reportedAt, footage, data, base64, isMalformed, isTest } = alarm;
  const detectedAt = formatTime(detectedAtMs);
  const receivedAt = detectedAtMs === receivedAtMs ? detectedAt : formatTime(receivedAtMs);
  const recordings = FOOTAGE_TYPES.filter((type) => footage[type] !== undefined);
  return (
    `"id":"${id}","kind":"${kind}","detectedAt":"${detectedAt}","receivedAt":"${receivedAt}"` +
    (reportedAt === undefined ? '' : `,"reportedAt":${reportedAt}`) +
    `,"footage":${recordings.length === 0 ? '[]' : JSON.stringify(recordings)}` +
    (data === undefined ? '' : `,"data":${data}`) +
    (base64 === undefined ? '' : `,"base64":"${base64}"`) +
    (isMalformed === true ? ',"malformed":true' : '') +
    (isTest === true ? ',"test":true' : '')
  );
}

/** The payload of `alarmText` with `"late":true`. */
export function asLate(payload: Buffer): Buffer {
  return Buffer.concat([payload.subarray(0, -NOT_LATE_BYTES), Buffer.from(LATE)]);
}
