import type { Logger } from 'pino';
import { z } from 'zod';
import {
  type AlarmLogItem,
  type Appended,
  isAlarm,
  type LogEntry,
  type NewAlarm,
  type NewStateChange,
} from '../../delivery/log/log-entry.js';
import { alarmText } from '../../domain/alarm-payload.js';
import { BoundedMap } from '../../domain/bounded-map.js';
import type { DeviceContext } from '../../domain/messages.js';
import { uuidBytes } from '../../domain/notation.js';
import { forwardedTopic } from '../../domain/topics.js';
import { GatewayError } from '../../errors.js';
import type { StoreHeadroom } from '../../site/health/store-headroom.js';
import type { Keys } from '../keys.js';
import { type Packable, packRows, Script } from '../scripts.js';
import type { Store } from '../store.js';
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
import { AlarmStateLog, stateEntry } from './alarm-state-log.js';
import { readStateChange } from './alarm-state-records.js';

/** Two connections: answers come in the order of the log, and no page read delays an alarm. */
export interface LogConnections {
  readonly writer: Store;
  readonly reader: Store;
  readonly headroom: Pick<StoreHeadroom, 'isFull' | 'stored'>;
}

/** The reason that Redis itself gives, a little later. */
const FULL = 'The store refuses to write (OOM).';

/** @throws GatewayError `store-unavailable` when the store is full but for what makes room */
export function requireHeadroom({ headroom }: LogConnections): void {
  if (headroom.isFull) throw new GatewayError('store-unavailable', FULL);
}

const appendAlarms = new Script('append-alarms', z.array(z.number()));

/** No device retransmits one alarm for longer. */
const RECEIPTS_KEPT_SECONDS = 7 * 24 * 3600;
/** Some 400 bytes each. */
const MAX_PLACES_IN_MEMORY = 10_000;

/**
 * The alarm log in Redis: one stream, which is also the history.
 *
 * An alarm is stored once. Consumers that lag get it rendered from its record, by the code that renders the live
 * message.
 */
export class AlarmLog {
  readonly #connections: LogConnections;
  readonly #keys: Keys;
  readonly #log: Logger | undefined;
  /** By their texts: many alarms share a place. */
  readonly #readPlaces = new BoundedMap<string, ReadPlace>(MAX_PLACES_IN_MEMORY);
  readonly #states: AlarmStateLog;

  /** The keys and prefixes of append-alarms.lua. */
  readonly #appendKeys: readonly string[];
  readonly #appendPrefixes: readonly string[];

  constructor(connections: LogConnections, keys: Keys, log?: Logger) {
    this.#connections = connections;
    this.#keys = keys;
    this.#log = log;
    this.#appendKeys = [keys.logSequence('alarms'), keys.history];
    this.#appendPrefixes = [
      ...[keys.alarmIdsPrefix, keys.receiptsPrefix, keys.alarmIndexPrefix],
      ...[keys.alarmGroupsPrefix, keys.receivedPrefix, keys.openAlarmIndexPrefix],
    ];
    this.#states = new AlarmStateLog(connections.writer, keys);
  }

  /**
   * One atomic write of the alarms that follow each other, and one for each state between them; durable
   * when the promise resolves. A batch may be appended again: what is there is recognised.
   *
   * @throws GatewayError `store-unavailable` when the store is full
   */
  async append(items: readonly AlarmLogItem[]): Promise<Appended[]> {
    requireHeadroom(this.#connections);
    if (areAlarms(items)) return this.#appendAlarms(items);
    // Sent at once and in this order: a state may be that of an alarm before it.
    const parts = await Promise.all(
      partsOf(items).map((part) =>
        Array.isArray(part) ? this.#appendAlarms(part) : this.#states.append(part),
      ),
    );
    return parts.flat();
  }

  async #appendAlarms(alarms: readonly NewAlarm[]): Promise<Appended[]> {
    const contexts = [...new Set(alarms.map(({ context }) => context))];
    const numbers = new Map(contexts.map((context, index) => [context, index + 1]));
    const places = packRows(contexts.map(placeRowOf));
    const rows = packRows(alarms.map((alarm) => rowOf(alarm, numbers.get(alarm.context) ?? 0)));
    const args = [...this.#appendPrefixes, RECEIPTS_KEPT_SECONDS, places, rows];
    const sequences = await this.#connections.writer.run(appendAlarms, this.#appendKeys, args);
    return sequences.map((sequence) => ({ sequence: Math.abs(sequence), isNew: sequence > 0 }));
  }

  /** Leaves out lost and damaged alarms, which must not hold up the others. */
  async read(from: string, to: string, count: number): Promise<LogEntry[]> {
    const { reader } = this.#connections;
    const entries: LogEntry[] = [];
    for (let start = from; ; ) {
      const wanted = count - entries.length;
      const rows = await readStream(reader, this.#keys.history, start, to, wanted);
      entries.push(...this.#entriesOf(rows));
      const last = rows.at(-1);
      if (last === undefined || rows.length < wanted || entries.length === count) break;
      start = String(last.sequence + 1);
    }
    return entries;
  }

  #entriesOf(rows: readonly StreamRow[]): LogEntry[] {
    const unreadable: number[] = [];
    const entries = rows.flatMap(({ sequence, fields }) => {
      const record = readAlarm(fields) ?? readStateChange(fields);
      const place = record && this.#placeOf(record.placeText);
      if (record === undefined || place === undefined) {
        unreadable.push(sequence);
        return [];
      }
      return 'by' in record
        ? [stateEntry(sequence, record, place)]
        : [entryOf(sequence, record, place)];
    });
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

function areAlarms(items: readonly AlarmLogItem[]): items is readonly NewAlarm[] {
  return items.every((item) => 'alarm' in item);
}

/** The alarms that follow each other, and each change of a state between them, in their order. */
function partsOf(items: readonly AlarmLogItem[]): (NewAlarm[] | NewStateChange)[] {
  const parts: (NewAlarm[] | NewStateChange)[] = [];
  for (const item of items) {
    const last = parts.at(-1);
    if (!isAlarm(item)) parts.push(item);
    else if (Array.isArray(last)) last.push(item);
    else parts.push([item]);
  }
  return parts;
}

/** An alarm as append-alarms.lua takes it. */
function rowOf(entry: NewAlarm, placeNumber: number): Packable[] {
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
  );
  return row;
}

function entryOf(sequence: number, alarm: ReadAlarm, place: ReadPlace): LogEntry {
  return {
    log: 'alarms',
    sequence,
    topic: forwardedTopic(place.location.id, place.device.id, `alarms/${alarm.kind}`),
    payload: Buffer.from(alarmText(alarm, place.contextText, alarm.receivedAtMs)),
    receivedAtMs: alarm.steadyAtMs,
    locationId: place.location.id,
    groupId: place.group?.id ?? null,
  };
}
