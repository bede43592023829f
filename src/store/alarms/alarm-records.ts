/** Writes alarms to the history and reads them back. */

import { z } from 'zod';
import type { NewAlarm } from '../../delivery/log/log-item.js';
import type { ForwardedAlarm } from '../../domain/alarm-payload.js';
import { ALARM_KINDS, type AlarmKind, FOOTAGE_TYPES } from '../../domain/alarms.js';
import type { DeviceContext, NamedPlace } from '../../domain/messages.js';
import { objectMembers, parseJson, sha1, uuidText } from '../../domain/notation.js';
import {
  type MessageProperties,
  packProperties,
  unpackProperties,
} from '../../mqtt/message-properties.js';
import type { Packable } from '../scripts.js';

export const UUID_BYTES = 16;

/** Fields that only some alarms have, as one JSON text. */
const extrasSchema = z.object({
  footage: z.partialRecord(z.enum(FOOTAGE_TYPES), z.string()).optional(),
  reportedAt: z.string().optional(),
  base64: z.string().optional(),
  malformed: z.literal(true).optional(),
  test: z.literal(true).optional(),
  /** MQTT 5 properties (`packProperties`), in base64. */
  properties: z.string().optional(),
});

/** An alarm's record. */
export interface ReadAlarm extends ForwardedAlarm {
  readonly receivedAtMs: number;
  /** Time of receipt by the steady clock. */
  readonly steadyAtMs: number;
  /** The device's place and custom data at the time of the alarm, as JSON (`placeTextOf`). */
  readonly placeText: string;
  readonly properties: MessageProperties | undefined;
}

/** A kind as the log writes it: its position in the specification's closed list. */
export function kindNumber(kind: AlarmKind): number {
  return ALARM_KINDS.indexOf(kind);
}

/**
 * The values of an alarm's record, except kind and place.
 *
 * In order: id, time of receipt, time from detection to receipt, data, extras, time of receipt by the steady clock;
 * then the time of detection, for the indexes only. Every alarm has the same fields, so Redis keeps their names once
 * per node of the stream.
 * @param id the bytes of the alarm's id
 */
export function alarmRecordValues(entry: NewAlarm, id: Buffer): Packable[] {
  const { alarm, context, wallReceivedAtMs } = entry;
  return [
    id,
    String(wallReceivedAtMs),
    String(wallReceivedAtMs - alarm.detectedAtMs),
    alarm.data ?? '',
    extrasText(entry, context.device.id),
    String(Math.round(entry.receivedAtMs)),
    String(alarm.detectedAtMs),
  ];
}

function extrasText(entry: NewAlarm, deviceId: string): string {
  const { alarm } = entry;
  const { reportedAt, base64, isMalformed, isTest } = alarm;
  const keys = mapFootage(alarm.footage, (key) => withoutDevice(key, deviceId));
  const footage = Object.keys(keys).length > 0 ? keys : undefined;
  const properties = entry.properties && packProperties(entry.properties).toString('base64');
  const given = { footage, reportedAt, base64, malformed: isMalformed, test: isTest, properties };
  const isPresent = Object.values(given).some((value) => value !== undefined);
  return isPresent ? JSON.stringify(given) : '';
}

/**
 * Reads the fields and values of a record; undefined if they are not ours.
 *
 * It uses zod only for extras: a lagging consumer reads thousands of records a second.
 */
export function readAlarm(fields: readonly Buffer[]): ReadAlarm | undefined {
  const text = (name: string) => valueNamed(fields, name)?.toString() ?? '';
  const id = valueNamed(fields, 'i');
  const kind = ALARM_KINDS[Number(text('k'))];
  const [receivedAtMs, delayMs] = [Number(text('r')), Number(text('a'))];
  const steadyAtMs = Number(text('t'));
  const extras = readExtras(text('x'));
  const isComplete =
    id?.length === UUID_BYTES && !Number.isNaN(receivedAtMs + delayMs + steadyAtMs);
  if (!isComplete || kind === undefined || extras === undefined) return undefined;
  const { footage = NO_FOOTAGE, reportedAt, base64, malformed, test } = extras;
  const packed = extras.properties;
  return {
    id: uuidText(id),
    kind,
    detectedAtMs: receivedAtMs - delayMs,
    receivedAtMs,
    steadyAtMs,
    placeText: text('c'),
    footage,
    reportedAt,
    data: text('d') || undefined,
    base64,
    isMalformed: malformed,
    isTest: test,
    properties: packed === undefined ? undefined : unpackProperties(Buffer.from(packed, 'base64')),
  };
}

/** The value of a name of one character. */
export function valueNamed(fields: readonly Buffer[], name: string): Buffer | undefined {
  const code = name.charCodeAt(0);
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const field = fields[at];
    if (field?.length === 1 && field[0] === code) return fields[at + 1];
  }
  return undefined;
}

function readExtras(text: string): z.output<typeof extrasSchema> | undefined {
  return text === '' ? {} : extrasSchema.safeParse(parseJson(text)).data;
}

const NO_FOOTAGE: ForwardedAlarm['footage'] = {};

type Footage = ForwardedAlarm['footage'];

/** The record with the full object keys of its recordings. */
export function withFootageOf(alarm: ReadAlarm, deviceId: string): ReadAlarm {
  return { ...alarm, footage: mapFootage(alarm.footage, (key) => withDevice(key, deviceId)) };
}

function mapFootage(footage: Footage, change: (key: string) => string): Footage {
  return Object.fromEntries(Object.entries(footage).map(([type, key]) => [type, change(key)]));
}

/** Every footage key begins with its device, or with `devices/` and its device (docs/reference/contract.md, 3). */
const DEVICES = 'devices/';

function withoutDevice(key: string, deviceId: string): string {
  return key.replace(deviceId, '');
}

function withDevice(key: string, deviceId: string): string {
  return key.startsWith(DEVICES)
    ? `${DEVICES}${deviceId}${key.slice(DEVICES.length)}`
    : deviceId + key;
}

const namedSchema = z.object({ id: z.string(), name: z.string() });
const placeSchema = z.object({
  device: namedSchema,
  location: namedSchema,
  room: namedSchema.nullable(),
  group: namedSchema.nullable(),
});

/** A place as read. `contextText` is for rendering messages. */
export interface ReadPlace extends NamedPlace {
  readonly contextText: string;
}

/** The JSON object whose members end every forwarded message of the device. */
export function placeTextOf(context: DeviceContext): string {
  return `{${context.text}}`;
}

/** Reads a place's text; undefined if it is not ours. The custom data keeps the customer's spelling. */
export function readPlace(text: string): ReadPlace | undefined {
  const place = placeSchema.safeParse(parseJson(text)).data;
  if (place === undefined) return undefined;
  const customData = objectMembers(text)?.get('customData') ?? '{}';
  return { ...place, customData, contextText: text.slice(1, -1) };
}

/**
 * Redis packs small hashes tightly. A million alarms make 30 in each piece, and up to four million stay
 * below the 128 that Redis packs by default.
 */
const PIECE_BITS = 15;
const PIECE_BYTES = 2;
const FIELD_BYTES = 10;

/** Where the history remembers the alarms recorded under an id. */
export interface AlarmIdPlace {
  readonly piece: number;
  readonly field: Buffer;
}

/**
 * Finds the place by a digest of the alarm's id.
 *
 * Devices choose their ids, and two may use the same one for different alarms, so a place has the sequences of
 * all of these. The digest is SHA-1, the only one available to scripts (expire-alarms.lua). A device gains
 * nothing if two of its own alarms count as one.
 */
export function alarmIdPlace(alarmId: Buffer): AlarmIdPlace {
  const digest = sha1(alarmId);
  return {
    piece: digest.readUInt16BE(0) >> (8 * PIECE_BYTES - PIECE_BITS),
    field: digest.subarray(PIECE_BYTES, PIECE_BYTES + FIELD_BYTES),
  };
}
