import type { Logger } from 'pino';
import { z } from 'zod';
import type {
  BatchIdentity,
  BatchStore,
  Destination,
  DestinationsOf,
  FrozenBatch,
  Written,
} from '../../delivery/log/batch.js';
import type { HistoryReader, LogEntry } from '../../delivery/log/log-entry.js';
import { isAlarm, isEvent, isStateChange } from '../../delivery/log/log-entry.js';
import type { AlarmLogItem, NewAlarm } from '../../delivery/log/log-item.js';
import { alarmText } from '../../domain/alarm-payload.js';
import { BoundedMap } from '../../domain/bounded-map.js';
import type { DeviceContext } from '../../domain/messages.js';
import { uuidBytes } from '../../domain/notation.js';
import type { DueEscalation } from '../../domain/time/escalations.js';
import { forwardedTopic } from '../../domain/topics.js';
import type { StoreHeadroom } from '../../site/health/store-headroom.js';
import type { Keys } from '../keys.js';
import { type Packable, packDestinations, packRows, Script } from '../scripts.js';
import type { ScriptArgument, Store } from '../store.js';
import { readStream, type StreamRow } from '../streams.js';
import {
  alarmIdPlace,
  alarmRecordValues,
  kindNumber,
  placeTextOf,
  type ReadAlarm,
  type ReadPlace,
  readAlarm,
  readPlace,
} from './alarm-records.js';
import { AlarmStateLog, type EntryPlace, stateEntry } from './alarm-state-log.js';
import { readStateChange } from './alarm-state-records.js';
import { EventLog, eventEntry, readEvent } from './event-log.js';

/** Two connections, so that no page read delays an alarm. */
export interface LogConnections {
  readonly writer: Store;
  readonly reader: Store;
  readonly headroom: Pick<StoreHeadroom, 'isFull'>;
}

/** The error that Redis itself gives a little later. */
const FULL = 'OOM the last of the memory is for what makes room';

/** @throws Error with the reply code `OOM` when the store is full, except for the room reserved for making room */
export function requireHeadroom({ isFull }: Pick<StoreHeadroom, 'isFull'>): void {
  if (isFull) throw new Error(FULL);
}

const numbers = z.array(z.number());
const appendAlarms = new Script(
  'append-alarms',
  z.tuple([numbers, numbers]).rest(z.array(z.string())),
);

/** A device sends an alarm again on its next connection; later, the same packet identifier is of another alarm. */
const RECEIPTS_KEPT_SECONDS = 300;
/** Some 400 bytes each. */
const MAX_PLACES_IN_MEMORY = 10_000;

/**
 * The history in Redis: one stream.
 *
 * An alarm is stored once. Lagging consumers get it rendered from its record, by the code that renders the live
 * message.
 */
export class AlarmLog implements BatchStore<AlarmLogItem>, HistoryReader {
  readonly #connections: LogConnections;
  readonly #keys: Keys;
  readonly #log: Logger | undefined;
  /** By text: many alarms share a place. */
  readonly #readPlaces = new BoundedMap<string, ReadPlace>(MAX_PLACES_IN_MEMORY);
  readonly #states: AlarmStateLog;
  readonly #events: EventLog;

  /** The keys and prefixes of append-alarms.lua. */
  readonly #appendKeys: readonly string[];
  readonly #appendPrefixes: readonly string[];
  readonly #dueKey: string;

  constructor(connections: LogConnections, keys: Keys, log?: Logger) {
    this.#connections = connections;
    this.#keys = keys;
    this.#log = log;
    this.#appendKeys = [keys.logSequence('alarms'), keys.history];
    this.#appendPrefixes = [
      keys.alarmIdsPrefix,
      keys.receiptsPrefix,
      keys.alarmIndexPrefix,
      keys.alarmGroupsPrefix,
      keys.receivedPrefix,
      keys.openAlarmIndexPrefix,
      keys.sessionPrefix,
      keys.queuePrefix,
    ];
    this.#dueKey = keys.escalationsDue;
    this.#states = new AlarmStateLog(connections.writer, keys);
    this.#events = new EventLog(connections.writer, keys);
  }

  /** Freezes alarms, events, or one state change (`WaitingItems`). */
  async freeze<To extends Destination>(
    items: readonly AlarmLogItem[],
    destinationsOf: DestinationsOf<To>,
    identity: BatchIdentity,
  ): Promise<FrozenBatch<To>> {
    const [first] = items;
    if (first !== undefined && isStateChange(first)) {
      return this.#states.freeze(first, destinationsOf, identity);
    }
    if (first !== undefined && isEvent(first)) {
      return this.#events.freeze(items.filter(isEvent), destinationsOf, identity);
    }
    return this.#freezeAlarms(items.filter(isAlarm), destinationsOf, identity);
  }

  #freezeAlarms<To extends Destination>(
    alarms: readonly NewAlarm[],
    destinationsOf: DestinationsOf<To>,
    { tag, after }: BatchIdentity,
  ): FrozenBatch<To> {
    const destinations = alarms.map(destinationsOf);
    const { names, packedNames, packedSets, setOfItems } = packDestinations(destinations);
    const contexts = [...new Set(alarms.map(({ context }) => context))];
    const placeOf = new Map(contexts.map((context, index) => [context, index + 1]));
    const rows = alarms.map((alarm, index) =>
      rowOf(alarm, placeOf.get(alarm.context) ?? 0, setOfItems[index] ?? 0),
    );
    const args = [
      ...this.#appendPrefixes,
      RECEIPTS_KEPT_SECONDS,
      tag,
      packedNames,
      packedSets,
      packRows(contexts.map(placeRowOf)),
      packRows(rows),
      this.#dueKey,
      after,
    ];
    return { destinations, write: () => this.#write(args, names) };
  }

  /** @throws Error with the reply code `OOM` when the store is full */
  async #write(args: readonly ScriptArgument[], names: readonly string[]): Promise<Written> {
    const { writer, headroom } = this.#connections;
    requireHeadroom(headroom);
    const reply = await writer.run(appendAlarms, this.#appendKeys, args);
    const [sequences, lengths, unusable] = reply;
    if (unusable !== undefined) return { unusable };
    const appended = sequences.map((sequence) => {
      return { sequence: Math.abs(sequence), isNew: sequence > 0 };
    });
    const backlogs = new Map(names.map((name, index) => [name, { alarms: lengths[index] ?? 0 }]));
    return { appended, backlogs };
  }

  /** Leaves out lost and damaged alarms: they must not hold up the others. */
  async read(afterSequence: number, count: number): Promise<LogEntry[]> {
    const { reader } = this.#connections;
    const entries: LogEntry[] = [];
    for (let start = String(afterSequence + 1); ; ) {
      const wanted = count - entries.length;
      const rows = await readStream(reader, this.#keys.history, start, '+', wanted);
      entries.push(...this.entriesOf(rows));
      const last = rows.at(-1);
      if (last === undefined || rows.length < wanted || entries.length === count) break;
      start = String(last.sequence + 1);
    }
    return entries;
  }

  /** The number of the newest entry: the counter's, or the history's own if the counter is lower. */
  async lastSequence(): Promise<number> {
    const { reader } = this.#connections;
    const [counter, [newest]] = await Promise.all([
      reader.read((redis) => redis.get(this.#keys.logSequence('alarms'))),
      reader.read((redis) => redis.xrevrange(this.#keys.history, '+', '-', 'COUNT', 1)),
    ]);
    const last = newest === undefined ? 0 : Number.parseInt(newest[0], 10);
    return Math.max(Number(counter) || 0, last);
  }

  /**
   * The entries for rows of the history, without unreadable ones.
   *
   * @param itemOf the item of a number in the queue being read
   */
  entriesOf(
    rows: readonly StreamRow[],
    itemOf: (sequence: number) => number = () => 0,
  ): LogEntry[] {
    const unreadable: number[] = [];
    const entries: LogEntry[] = [];
    for (const { sequence, fields } of rows) {
      const at = { sequence, item: itemOf(sequence) };
      const record = readAlarm(fields) ?? readStateChange(fields) ?? readEvent(fields);
      const place = record && this.#placeOf(record.placeText);
      if (record === undefined || place === undefined) unreadable.push(sequence);
      else if ('by' in record) entries.push(stateEntry(at, record, place));
      else if ('level' in record) entries.push(eventEntry(at, record, place));
      else entries.push(entryOf(at, record, place));
    }
    if (unreadable.length > 0) {
      const sequences = unreadable;
      this.#log?.error({ log: 'alarms', sequences }, 'failed to read alarms of the log');
    }
    return entries;
  }

  #placeOf(text: string): ReadPlace | undefined {
    const known = this.#readPlaces.get(text);
    if (known !== undefined) return known;
    const place = readPlace(text);
    if (place !== undefined) this.#readPlaces.set(text, place);
    return place;
  }
}

function placeRowOf(context: DeviceContext): Packable[] {
  const { device, location, group } = context;
  return [placeTextOf(context), device.id, location.id, group?.id ?? ''];
}

/** Escalations as append-alarms.lua takes them. */
function dueText(escalations: readonly DueEscalation[]): string {
  return escalations.map(({ name, dueAtMs }) => `${Math.round(dueAtMs)} ${name}`).join(' ');
}

/** An alarm as append-alarms.lua takes it. */
function rowOf(entry: NewAlarm, placeNumber: number, set: number): Packable[] {
  const { alarm, receipt, received } = entry;
  const id = uuidBytes(alarm.id);
  const { piece, field } = alarmIdPlace(id);
  const row = alarmRecordValues(entry, id);
  row.unshift(placeNumber, String(kindNumber(alarm.kind)), String(piece), field);
  row.push(
    receipt === undefined ? '' : String(receipt.packetIdentifier),
    receipt?.payloadDigest ?? '',
    receipt?.isSentAgain === true ? 1 : 0,
    received?.session ?? '',
    String(received?.packetIdentifier ?? ''),
    set,
    entry.escalations === undefined ? '' : dueText(entry.escalations),
  );
  return row;
}

function entryOf(at: EntryPlace, alarm: ReadAlarm, place: ReadPlace): LogEntry {
  return {
    ...at,
    log: 'alarms',
    topic: forwardedTopic(place.location.id, place.device.id, `alarms/${alarm.kind}`),
    payload: Buffer.from(alarmText(alarm, place.contextText, alarm.receivedAtMs)),
    receivedAtMs: alarm.steadyAtMs,
    properties: alarm.properties,
    locationId: place.location.id,
    groupId: place.group?.id ?? null,
  };
}
