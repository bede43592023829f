import { z } from 'zod';
import { derivedId, isUuid, newId } from './identifiers.js';
import { composeObject, decodeUtf8, isJson, objectMembers } from './json-text.js';
import type { Instant } from './times.js';
import { PLAUSIBLE_FROM_MS, parseInstant } from './times.js';

/** The eight kinds of the interface specification, 2. */
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
const kindSchema = z.enum(ALARM_KINDS);

export const FOOTAGE_TYPES = ['video', 'audio'] as const;
export type FootageType = (typeof FOOTAGE_TYPES)[number];

/** A detection time further ahead than this is plainly wrong (CONTRACT 3). */
const MAX_AHEAD_MS = 5 * 60_000;
const MAX_FOOTAGE_KEY_LENGTH = 512;

/** An alarm as a device sent it. */
export interface Alarm {
  readonly id: string;
  readonly kind: AlarmKind;
  readonly detectedAtMs: number;
  /** JSON text of the detection time as sent, where it could not be believed. */
  readonly reportedAt: string | undefined;
  /** Object keys of the recordings there are. */
  readonly footage: Readonly<Partial<Record<FootageType, string>>>;
  /** JSON text of the object of all other fields, undefined when there are none. */
  readonly data: string | undefined;
  /**
   * Whether the same publish sent again gives the same `id`. Where it does not, only the packet
   * identifier of a retransmission tells a repetition from a second alarm.
   */
  readonly idIsStable: boolean;
}

/** Why a publish cannot be used, as the `reason` on the rejected topics. */
export const REJECTION_REASONS = [
  'payload-too-large',
  'not-json',
  'not-an-object',
  'unknown-kind',
  'invalid-footage',
  'reserved-topic',
  'invalid-topic',
] as const;
export type RejectionReason = (typeof REJECTION_REASONS)[number];

export type AlarmResult = { readonly alarm: Alarm } | { readonly reason: RejectionReason };

/**
 * Reads the payload of `devices/<deviceId>/alarms`. Lenient where refusing would lose an alarm over
 * a detail: a wrong time is replaced, an `id` that is no UUID is kept in `data` and one is derived
 * from it.
 */
export function parseAlarm(
  payload: Uint8Array,
  deviceId: string,
  receivedAtMs: number,
): AlarmResult {
  const text = decodeUtf8(payload);
  if (text === undefined || !isJson(text)) return { reason: 'not-json' };
  const members = objectMembers(text);
  if (members === undefined) return { reason: 'not-an-object' };
  const kind = kindSchema.safeParse(parsed(members.get('kind')));
  if (!kind.success) return { reason: 'unknown-kind' };
  const footage = parseFootage(members.get('footage'), deviceId);
  if (footage === undefined) return { reason: 'invalid-footage' };

  const sentTime = members.get('detectedAt');
  const believed = believedTime(sentTime, receivedAtMs);
  const identity = identify(deviceId, kind.data, believed, members.get('id'));
  const rest = new Map(members);
  for (const key of ['kind', 'detectedAt', 'footage']) rest.delete(key);
  if (identity.sentIdIsUsed) rest.delete('id');
  return {
    alarm: {
      id: identity.id,
      kind: kind.data,
      detectedAtMs: believed?.timeMs ?? receivedAtMs,
      reportedAt: believed === undefined && sentTime !== 'null' ? sentTime : undefined,
      footage,
      data: rest.size === 0 ? undefined : composeObject(rest),
      idIsStable: identity.isStable,
    },
  };
}

function parsed(text: string | undefined): unknown {
  return text === undefined ? undefined : JSON.parse(text);
}

function believedTime(sent: string | undefined, receivedAtMs: number): Instant | undefined {
  const text = z.string().safeParse(parsed(sent));
  const instant = text.success ? parseInstant(text.data) : undefined;
  if (instant === undefined || instant.timeMs > receivedAtMs + MAX_AHEAD_MS) return undefined;
  return instant.timeMs < PLAUSIBLE_FROM_MS ? undefined : instant;
}

interface Identity {
  readonly id: string;
  readonly isStable: boolean;
  readonly sentIdIsUsed: boolean;
}

/**
 * A derived id must never make two alarms one. Without a believable time there is nothing to derive
 * from: a device whose clock stands still would have a single alarm for ever.
 */
function identify(
  deviceId: string,
  kind: AlarmKind,
  believed: Instant | undefined,
  sent: string | undefined,
): Identity {
  const sentId = parsed(sent);
  if (typeof sentId === 'string' && isUuid(sentId)) {
    return { id: sentId.toLowerCase(), isStable: true, sentIdIsUsed: true };
  }
  const sentIdIsUsed = sent === undefined || sentId === null;
  if (!sentIdIsUsed) {
    return { id: derivedId(deviceId, `id/${sent}`), isStable: true, sentIdIsUsed };
  }
  if (believed === undefined) return { id: newId(), isStable: false, sentIdIsUsed };
  const name = `${kind}/${instantName(believed)}`;
  return { id: derivedId(deviceId, name), isStable: true, sentIdIsUsed };
}

/**
 * What of the time goes into the id (CONTRACT 3): all that was sent, because two falls within one
 * millisecond are two. Nothing but the milliseconds where nothing finer was sent: such ids are in
 * histories, and devices repeat their alarms after an update of the gateway, too.
 */
function instantName({ timeMs, finerDigits }: Instant): string {
  return finerDigits === '' ? String(timeMs) : `${timeMs}.${finerDigits}`;
}

const footageSchema = z
  .object({ video: z.string().nullish(), audio: z.string().nullish() })
  .nullish();

function parseFootage(text: string | undefined, deviceId: string): Alarm['footage'] | undefined {
  const result = footageSchema.safeParse(parsed(text));
  if (!result.success) return undefined;
  const footage: Partial<Record<FootageType, string>> = {};
  for (const type of FOOTAGE_TYPES) {
    const key = result.data?.[type];
    if (key === undefined || key === null) continue;
    if (!isOwnFootageKey(key, deviceId)) return undefined;
    footage[type] = key;
  }
  return footage;
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
