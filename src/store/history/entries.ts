/**
 * What the history holds: alarms, changes of their states, events of the gateway, commands. Each kind is written as one
 * form of row (append.lua), and read back as the message that goes to subscribers.
 *
 * Names of fields have one letter, and only alarms have `k`: Redis keeps the names once per node of the stream.
 */
import { z } from 'zod';
import type { Entry } from '../../delivery/message.js';
import type {
  NewAlarm,
  NewCommand,
  NewEntry,
  NewEvent,
  NewStateChange,
} from '../../delivery/new-entry.js';
import {
  ALARM_KINDS,
  type AlarmKind,
  alarmText,
  FOOTAGE_TYPES,
  type ForwardedAlarm,
} from '../../domain/alarm.js';
import {
  alarmStateText,
  authorSchema,
  type ForwardedState,
  GIVEN_STATES,
} from '../../domain/alarm-state.js';
import { BoundedMap } from '../../domain/bounded-map.js';
import { sha1, uuidBytes, uuidText } from '../../domain/ids.js';
import { objectMembers, parseJson } from '../../domain/json.js';
import type { DeviceContext, NamedPlace } from '../../domain/messages.js';
import { ALARM_STATES_LEVEL, forwardedTopic } from '../../domain/topics.js';
import {
  type MessageProperties,
  packProperties,
  unpackProperties,
} from '../../mqtt/message-properties.js';
import type { AuditEntry } from '../../site/audit-trail.js';
import type { Keys } from '../keys.js';
import type { Packable } from '../scripts.js';
import type { RecordToWrite, StoreCommand } from '../store.js';

/** An entry as append.lua takes it, but for its destinations. */
export interface Row {
  readonly id: Buffer;
  readonly deviceId: string;
  /** The JSON object whose members end every forwarded message of the device; '' for none. */
  readonly placeText: string;
  /** Names and values. */
  readonly fields: readonly Packable[];
  /** The sorted sets that list it, below the site's prefix, and their score. */
  readonly indexes: readonly string[];
  readonly score: string;
  readonly receipt: Packable;
  readonly condition: Packable;
  readonly commands: readonly StoreCommand[];
  readonly records: readonly RecordToWrite[];
}

const UNLISTED: readonly string[] = [];
const NOTHING = { indexes: UNLISTED, score: '', receipt: false, condition: false } as const;
const NONE = { commands: [], records: [] } as const;

/** A receipt is looked for in the current slot and the one before. */
const RECEIPT_SLOT_MS = 300_000;

/**
 * The texts that the alarms of a device have in common while its place stays the same.
 *
 * The same object each time: what goes into a batch is told apart by its identity.
 */
export class SharedTexts {
  readonly #ofContext = new WeakMap<
    DeviceContext,
    { readonly place: string; readonly indexes: Map<string, readonly string[]> }
  >();

  of(context: DeviceContext, kind: string) {
    const { device, location } = context;
    const known = this.#ofContext.get(context) ?? {
      place: placeTextOf(context),
      indexes: new Map<string, readonly string[]>(),
    };
    this.#ofContext.set(context, known);
    const at = `${location.id}:${kind}`;
    const names = [`alarms:${location.id}:${device.id}`, `alarms:${at}`, `open-alarms:${at}`];
    const indexes = known.indexes.get(kind) ?? names;
    known.indexes.set(kind, indexes);
    return { place: known.place, indexes };
  }
}

/** @param recordOf an entry of the audit trail as it is written */
export function rowOf(
  entry: NewEntry,
  keys: Keys,
  shared: SharedTexts,
  recordOf: (entry: AuditEntry) => RecordToWrite,
): Row {
  if ('alarm' in entry) return alarmRow(entry, keys, shared);
  if ('stateChange' in entry) return stateRow(entry, keys, recordOf);
  return 'event' in entry ? eventRow(entry, keys) : commandRow(entry);
}

/** A kind as the history writes it: its position in the specification's closed list. */
export function kindNumber(kind: AlarmKind): number {
  return ALARM_KINDS.indexOf(kind);
}

function alarmRow(entry: NewAlarm, keys: Keys, shared: SharedTexts): Row {
  const { alarm, context, wallReceivedAtMs, receivedAtMs, escalations = [] } = entry;
  const { device } = context;
  const kind = String(kindNumber(alarm.kind));
  const { place, indexes } = shared.of(context, kind);
  const { id } = alarm;
  return {
    id: uuidBytes(id),
    deviceId: device.id,
    placeText: place,
    fields: [
      'k',
      kind,
      'r',
      String(wallReceivedAtMs),
      'a',
      String(wallReceivedAtMs - alarm.detectedAtMs),
      'd',
      alarm.data ?? '',
      'x',
      extrasText(entry),
      't',
      String(Math.round(receivedAtMs)),
    ],
    indexes,
    score: String(alarm.detectedAtMs),
    receipt: packReceipt(entry),
    condition: false,
    commands: escalations.map(({ name, dueAtMs }): StoreCommand => {
      const member = `${id} ${device.id} ${name}`;
      return ['ZADD', keys.escalationsDue, String(Math.round(dueAtMs)), member];
    }),
    records: [],
  };
}

function packReceipt({ receipt, receivedAtMs }: NewAlarm): Packable {
  if (receipt === undefined) return false;
  const slot = Math.floor(receivedAtMs / RECEIPT_SLOT_MS);
  const { packetIdentifier, payloadDigest, isSentAgain } = receipt;
  const slots = [slot, slot - 1].map(String);
  return [String(packetIdentifier), payloadDigest, isSentAgain, Math.round(receivedAtMs), ...slots];
}

function stateRow(
  { stateChange: change, receivedAtMs }: NewStateChange,
  keys: Keys,
  recordOf: (entry: AuditEntry) => RecordToWrite,
): Row {
  const { alarmId, deviceId, kind, state, by, atMs, note, before, after } = change;
  const { piece, field } = statesPlace(alarmId, deviceId);
  const states = keys.alarmStates(piece);
  const open = keys.openAlarms(change.locationId, kindNumber(kind));
  const isResolved = state === 'resolved';
  const commands: StoreCommand[] = [['HSET', states, field, after]];
  if (isResolved) commands.push(['ZREM', open, change.sequence.padStart(12, '0')]);
  return {
    ...NOTHING,
    id: change.id,
    deviceId,
    placeText: change.placeText,
    fields: [
      's',
      state,
      'j',
      uuidBytes(alarmId),
      'K',
      String(kindNumber(kind)),
      'b',
      JSON.stringify({ id: by.id, name: by.name }),
      'n',
      note ?? '',
      'r',
      String(atMs),
      't',
      String(Math.round(receivedAtMs)),
    ],
    condition: [before, 'HGET', states, field],
    commands,
    records: [recordOf(change.audit)],
  };
}

function eventRow({ event, receivedAtMs }: NewEvent, keys: Keys): Row {
  const { level, members, placeText, atMs, subject, id, deviceId } = event;
  const fields = ['l', level, 'm', members, 'r', String(Math.round(atMs))];
  fields.push('t', String(Math.round(receivedAtMs)));
  const common = { ...NOTHING, id, deviceId, placeText, fields, records: [] };
  if (subject.type === 'supervision') {
    const { state, lastSeenAtMs } = subject;
    const record = JSON.stringify({ state, sinceMs: atMs, lastSeenAtMs });
    return { ...common, commands: [['HSET', keys.supervision, deviceId, record]] };
  }
  const { piece, field } = statesPlace(subject.alarmId, deviceId);
  return {
    ...common,
    // Nobody has acknowledged the alarm.
    condition: ['', 'HGET', keys.alarmStates(piece), field],
    commands: [['ZREM', keys.escalationsDue, subject.member]],
  };
}

function commandRow({ commandId, topic, payload, properties, receivedAtMs }: NewCommand): Row {
  const fields = ['T', topic, 'P', payload, 't', String(Math.round(receivedAtMs))];
  if (properties !== undefined) fields.push('M', packProperties(properties));
  return { ...NOTHING, ...NONE, id: commandId, deviceId: '', placeText: '', fields };
}

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

function extrasText({ alarm, properties: sent }: NewAlarm): string {
  const { reportedAt, base64, isMalformed, isTest } = alarm;
  const footage = Object.keys(alarm.footage).length > 0 ? alarm.footage : undefined;
  const properties = sent && packProperties(sent).toString('base64');
  const given = { footage, reportedAt, base64, malformed: isMalformed, test: isTest, properties };
  const isPresent = Object.values(given).some((value) => value !== undefined);
  return isPresent ? JSON.stringify(given) : '';
}

export const UUID_BYTES = 16;

/** An alarm's record. */
export interface ReadAlarm extends ForwardedAlarm {
  readonly receivedAtMs: number;
  /** Time of receipt by the steady clock. */
  readonly steadyAtMs: number;
  readonly placeText: string;
  readonly properties: MessageProperties | undefined;
}

/**
 * Reads the names and values of a record; undefined if they are not ours.
 *
 * It uses zod only for extras: a lagging consumer reads thousands of records a second.
 */
export function readAlarm(fields: readonly Buffer[]): ReadAlarm | undefined {
  return alarmIn(new Values(fields));
}

function alarmIn(values: Values): ReadAlarm | undefined {
  const text = (name: string) => values.text(name);
  const id = values.bytes('i');
  const kind = ALARM_KINDS[Number(text('k') || Number.NaN)];
  const [receivedAtMs, delayMs] = [Number(text('r')), Number(text('a'))];
  const steadyAtMs = Number(text('t'));
  const extras = readExtras(text('x'));
  const isComplete =
    id?.length === UUID_BYTES && !Number.isNaN(receivedAtMs + delayMs + steadyAtMs);
  if (!isComplete || kind === undefined || extras === undefined) return undefined;
  const { footage = {}, reportedAt, base64, malformed, test, properties: packed } = extras;
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

function readExtras(text: string): z.output<typeof extrasSchema> | undefined {
  return text === '' ? {} : extrasSchema.safeParse(parseJson(text)).data;
}

/** Reads a change of an alarm's state, with its time by the steady clock; undefined if it is none. */
function stateChangeIn(values: Values): ForwardedState | undefined {
  const text = (name: string) => values.text(name);
  const id = values.bytes('j');
  const kind = ALARM_KINDS[Number(text('K') || Number.NaN)];
  const state = GIVEN_STATES.find((known) => known === text('s'));
  const by = authorSchema.safeParse(parseJson(text('b'))).data;
  const isState = id?.length === UUID_BYTES && kind !== undefined && state !== undefined;
  if (!isState || by === undefined) return undefined;
  return {
    id: uuidText(id),
    kind,
    state,
    by,
    atMs: Number(text('r')),
    note: text('n') || undefined,
  };
}

/**
 * The message of an entry; undefined if it is unreadable.
 *
 * @param fields names and values
 * @param placeOf reads the text of a place
 */
export function readEntry(
  sequence: number,
  fields: readonly Buffer[],
  placeOf: (text: string) => ReadPlace | undefined,
): Entry | undefined {
  const values = new Values(fields);
  const receivedAt = values.text('t');
  const common = { log: 'alarms', sequence, receivedAtMs: Number(receivedAt) } as const;
  if (receivedAt === '' || Number.isNaN(common.receivedAtMs)) return undefined;
  const topic = values.text('T');
  if (topic !== '') {
    const payload = values.bytes('P') ?? Buffer.alloc(0);
    const properties = unpackProperties(values.bytes('M'));
    const audience = { locationId: null, groupId: null };
    return { ...common, ...audience, topic, payload, properties, isNeverLate: true };
  }
  const alarm = alarmIn(values);
  const place = placeOf(alarm?.placeText ?? values.text('c'));
  const message = place && deviceMessage(values, alarm, place);
  if (place === undefined || message === undefined) return undefined;
  const { level, payload, properties, isNeverLate } = message;
  return {
    ...common,
    topic: forwardedTopic(place.location.id, place.device.id, level),
    payload: Buffer.from(payload),
    properties,
    isNeverLate,
    locationId: place.location.id,
    groupId: place.group?.id ?? null,
  };
}

/** The message of an entry about a device: the level of its topic after the device, and its payload. */
function deviceMessage(values: Values, alarm: ReadAlarm | undefined, { contextText }: ReadPlace) {
  if (alarm !== undefined) {
    const payload = alarmText(alarm, contextText, alarm.receivedAtMs);
    const { properties } = alarm;
    return { level: `alarms/${alarm.kind}`, payload, properties, isNeverLate: undefined };
  }
  const unmarked = { properties: undefined, isNeverLate: true } as const;
  const change = stateChangeIn(values);
  if (change !== undefined) {
    const payload = alarmStateText(change, contextText);
    return { level: `${ALARM_STATES_LEVEL}/${change.kind}`, payload, ...unmarked };
  }
  const level = values.text('l');
  if (level === '') return undefined;
  return { level, payload: `{${values.text('m')},${contextText}}`, ...unmarked };
}

/** The values of a record, whose names are of one character. */
class Values {
  readonly #fields: readonly Buffer[];

  /** @param fields names and values */
  constructor(fields: readonly Buffer[]) {
    this.#fields = fields;
  }

  bytes(name: string): Buffer | undefined {
    const fields = this.#fields;
    const code = name.charCodeAt(0);
    for (let at = 0; at + 1 < fields.length; at += 2) {
      if (fields[at]?.[0] === code && fields[at]?.length === 1) return fields[at + 1];
    }
    return undefined;
  }

  /** '' if the record has none. */
  text(name: string): string {
    return this.bytes(name)?.toString() ?? '';
  }
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

/** The JSON object whose members end every forwarded message of the device. It begins with device and location. */
export function placeTextOf(context: { readonly text: string }): string {
  return `{${context.text}}`;
}

/** Reads a place's text; undefined if it is not ours. The custom data keeps the customer's spelling. */
export function readPlace(text: string): ReadPlace | undefined {
  const place = placeSchema.safeParse(parseJson(text)).data;
  if (place === undefined) return undefined;
  const customData = objectMembers(text)?.get('customData') ?? '{}';
  return { ...place, customData, contextText: text.slice(1, -1) };
}

/** Some 400 bytes each. */
const MAX_PLACES_IN_MEMORY = 10_000;

/** The places of entries by their texts, read once: many entries share one. */
export class ReadPlaces {
  readonly #places = new BoundedMap<string, ReadPlace>(MAX_PLACES_IN_MEMORY);

  /** Undefined if the text is not ours. */
  of(text: string): ReadPlace | undefined {
    const known = this.#places.get(text);
    if (known !== undefined) return known;
    const place = readPlace(text);
    if (place !== undefined) this.#places.set(text, place);
    return place;
  }
}

/**
 * Redis packs small hashes tightly. A million alarms make 30 in each piece, and up to four million stay
 * below the 128 that Redis packs by default.
 */
const PIECE_BITS = 15;
const PIECE_BYTES = 2;
const FIELD_BYTES = 10;

/** Where a hash of many pieces keeps what belongs to these bytes. */
export interface DigestPlace {
  readonly piece: number;
  readonly field: Buffer;
}

/**
 * Finds the place by SHA-1, the only digest available to scripts (`placeOf` in shared/history.lua).
 *
 * Devices choose the ids of their alarms, and two may use the same one, so a place has the numbers of all of these. A
 * device gains nothing if two of its own alarms count as one.
 */
export function digestPlace(bytes: Buffer): DigestPlace {
  const digest = sha1(bytes);
  return {
    piece: digest.readUInt16BE(0) >> (8 * PIECE_BYTES - PIECE_BITS),
    field: digest.subarray(PIECE_BYTES, PIECE_BYTES + FIELD_BYTES),
  };
}

/** Where the states of an alarm are. */
function statesPlace(alarmId: string, deviceId: string): DigestPlace {
  return digestPlace(Buffer.concat([uuidBytes(alarmId), Buffer.from(deviceId)]));
}
