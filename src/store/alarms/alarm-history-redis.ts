import type { Logger } from 'pino';
import { z } from 'zod';
import { RAISED } from '../../domain/alarm-states.js';
import { uuidText } from '../../domain/notation.js';
import type {
  AlarmHistory,
  AlarmPage,
  AlarmPosition,
  AlarmQuery,
  AlarmRecord,
} from '../../site/alarms/alarm-history.js';
import { StoreTurns } from '../../site/store-turns.js';
import { answering } from '../failures.js';
import type { Keys } from '../keys.js';
import { Script } from '../scripts.js';
import type { Store } from '../store.js';
import { AlarmIndexes } from './alarm-indexes.js';
import { kindNumber, readAlarm, readPlace, UUID_BYTES, withFootageOf } from './alarm-records.js';
import { readStates } from './alarm-state-records.js';

const bytes = z.instanceof(Buffer);
const entrySchema = z.tuple([bytes.transform(Number), z.array(bytes), bytes]);
const readAlarms = new Script('read-alarms', z.array(entrySchema), { hasBytes: true });
type Entry = z.output<typeof entrySchema>;

/** How many alarms one call reads at most. Redis serves nobody else while a script runs: some milliseconds for this many. */
const READ_AT_ONCE = 1_001;

/** The alarm history in Redis: records in a stream, and sorted sets that list them by detection time. */
export class AlarmHistoryRedis implements AlarmHistory {
  readonly #store: Store;
  readonly #keys: Keys;
  readonly #log: Logger | undefined;
  readonly #turns = new StoreTurns();

  constructor(store: Store, keys: Keys, log?: Logger) {
    this.#store = store;
    this.#keys = keys;
    this.#log = log;
  }

  page(query: AlarmQuery): Promise<AlarmPage> {
    return answering(() => this.#page(query));
  }

  async #page(query: AlarmQuery): Promise<AlarmPage> {
    const [upToSequence, indexKeys] = await Promise.all([
      query.upToSequence ?? this.#newestSequence(),
      this.#indexesFor(query),
    ]);
    const indexes = new AlarmIndexes(this.#store, indexKeys, query);
    const alarms: AlarmRecord[] = [];
    let reached = query.position;
    for (let isFirst = true; isFirst || query.isAwaited?.() !== false; isFirst = false) {
      // One more than is wanted shows whether anything follows.
      const count = isFirst ? query.limit + 1 - alarms.length : READ_AT_ONCE;
      const read = () => this.#read(indexes, query, upToSequence, Math.min(count, READ_AT_ONCE));
      const { listed, found } = isFirst
        ? await read()
        : await this.#turns.take(() => this.#turns.answered(read()));
      for (const position of listed) {
        const alarm = found.get(position.sequence);
        if (alarm !== undefined && alarms.length === query.limit)
          return { alarms, upToSequence, next: reached };
        if (alarm !== undefined) alarms.push(alarm);
        reached = position;
      }
      if (listed.length < Math.min(count, READ_AT_ONCE))
        return { alarms, upToSequence, next: undefined };
    }
    return { alarms, upToSequence, next: reached };
  }

  /** Reads the next alarms of the indexes, and finds those that the query wants. */
  async #read(
    indexes: AlarmIndexes,
    query: AlarmQuery,
    upToSequence: number,
    count: number,
  ): Promise<{ listed: AlarmPosition[]; found: Map<number, AlarmRecord> }> {
    const listed = await indexes.take(count);
    const sequences = listed
      .map(({ sequence }) => sequence)
      .filter((sequence) => sequence <= upToSequence);
    const args = [this.#keys.alarmStatesPrefix, ...sequences];
    const entries =
      sequences.length === 0 ? [] : await this.#store.run(readAlarms, [this.#keys.history], args);
    const alarms = entries.map((entry) => [entry[0], recordOf(entry)] as const);
    const damaged = alarms.filter(([, alarm]) => alarm === undefined).length;
    const { locationId } = query;
    // A lost alarm must not hide the others.
    if (damaged > 0) this.#log?.error({ locationId, damaged }, 'failed to read alarms of a page');
    const found = new Map<number, AlarmRecord>();
    for (const [sequence, alarm] of alarms)
      if (alarm !== undefined && isWanted(alarm, query)) found.set(sequence, alarm);
    return { listed, found };
  }

  async #newestSequence(): Promise<number> {
    const { history } = this.#keys;
    const [newest] = await this.#store.read((redis) =>
      redis.xrevrange(history, '+', '-', 'COUNT', 1),
    );
    return newest === undefined ? 0 : Number.parseInt(newest[0], 10);
  }

  /**
   * The indexes of a device; or of the wanted groups and kinds.
   *
   * Those of open alarms alone, where nothing else is asked for: a history has a thousand resolved ones for each.
   */
  async #indexesFor({ locationId, deviceId, states, groupIds, kinds }: AlarmQuery) {
    const keys = this.#keys;
    if (deviceId !== undefined) return [keys.deviceAlarms(locationId, deviceId)];
    const stored = await this.#store.read((redis) => redis.smembers(keys.alarmGroups(locationId)));
    const groups = stored.filter((group) => groupIds === undefined || groupIds.includes(group));
    const prefix =
      states?.includes('resolved') === false
        ? keys.openAlarmIndexesOf(locationId)
        : keys.alarmIndexesOf(locationId);
    return groups.flatMap((group) => kinds.map((kind) => `${prefix}${group}:${kindNumber(kind)}`));
  }
}

/** Undefined when the record is damaged. */
function recordOf([, fields, states]: Entry): AlarmRecord | undefined {
  const alarm = readAlarm(fields);
  const place = alarm && readPlace(alarm.placeText);
  if (alarm === undefined || place === undefined) return undefined;
  const { contextText: _, ...shown } = place;
  const { placeText: _text, ...record } = withFootageOf(alarm, place.device.id);
  return { ...record, ...shown, states: statesOf(alarm.id, states) };
}

/** Those of another alarm that had the sequence do not count. */
function statesOf(alarmId: string, stored: Buffer) {
  if (stored.length <= UUID_BYTES) return RAISED;
  return uuidText(stored.subarray(0, UUID_BYTES)) === alarmId ? readStates(stored) : RAISED;
}

function isWanted(alarm: AlarmRecord, { kinds, groupIds, states }: AlarmQuery): boolean {
  const isInGroup = groupIds === undefined || groupIds.includes(alarm.group?.id ?? '');
  const isInState = states === undefined || states.includes(alarm.states.state);
  return kinds.includes(alarm.kind) && isInGroup && isInState;
}
