import type { Logger } from 'pino';
import { z } from 'zod';
import { RAISED } from '../../domain/alarm-states.js';
import type { AlarmKind } from '../../domain/alarms.js';
import { uuidText } from '../../domain/notation.js';
import type {
  AlarmCounts,
  AlarmDelivery,
  AlarmFilter,
  AlarmHistory,
  AlarmName,
  AlarmPage,
  AlarmPosition,
  AlarmQuery,
  AlarmRecord,
  AlarmScope,
} from '../../site/alarms/alarm-history.js';
import { StoreTurns } from '../../site/store-turns.js';
import { answering } from '../failures.js';
import type { Keys } from '../keys.js';
import { Script } from '../scripts.js';
import type { Store } from '../store.js';
import { AlarmIndexes } from './alarm-indexes.js';
import { kindNumber, readAlarm, readPlace, UUID_BYTES, withFootageOf } from './alarm-records.js';
import { readStates } from './alarm-state-records.js';
import { deliveriesOf } from './delivery-proofs.js';
import { escalationsMade } from './escalation-store-redis.js';
import { findAlarmIn } from './find-alarm.js';

const bytes = z.instanceof(Buffer);
const entrySchema = z.tuple([bytes.transform(Number), z.array(bytes), bytes]);
const countAlarms = new Script('count-alarms', z.array(z.tuple([z.number(), z.number()])));
const readAlarms = new Script('read-alarms', z.array(entrySchema), { hasBytes: true });
type Entry = z.output<typeof entrySchema>;
type AddCount = (at: number, kind: AlarmKind, count: number) => void;

/** The most alarms in one call. Redis serves nobody else while a script runs: a few milliseconds for this many. */
const READ_AT_ONCE = 1_001;

/** The alarm history in Redis: records in a stream, and sorted sets that list them by detection time. */
export class AlarmHistoryRedis implements AlarmHistory {
  readonly #store: Store;
  readonly #keys: Keys;
  readonly #log: Logger | undefined;
  readonly #escalations: readonly string[];
  readonly #turns = new StoreTurns();

  /** @param escalations the names of the configured escalations */
  constructor(store: Store, keys: Keys, log?: Logger, escalations: readonly string[] = []) {
    this.#store = store;
    this.#keys = keys;
    this.#log = log;
    this.#escalations = escalations;
  }

  page(query: AlarmQuery): Promise<AlarmPage> {
    return answering(() => this.#page(query));
  }

  find(alarm: AlarmName): Promise<AlarmRecord | undefined> {
    return answering(async () => {
      const found = await findAlarmIn(this.#store, this.#keys, alarm);
      const [entry] = found === undefined ? [] : await this.#entries([found.sequence]);
      const record = entry && recordOf(entry);
      if (entry === undefined || record === undefined) return undefined;
      return { ...record, escalations: (await this.#escalationsOf([entry[0]])).get(entry[0]) };
    });
  }

  deliveries(alarm: AlarmName): Promise<AlarmDelivery[] | undefined> {
    return answering(async () => {
      const found = await findAlarmIn(this.#store, this.#keys, alarm);
      const [entry] = found === undefined ? [] : await this.#entries([found.sequence]);
      const record = entry && recordOf(entry);
      if (entry === undefined || record === undefined) return undefined;
      return await deliveriesOf(this.#store, this.#keys, entry[0], record.receivedAtMs);
    });
  }

  counts(filter: AlarmFilter, boundsMs: readonly number[]): Promise<AlarmCounts[]> {
    const { deviceIds, roomIds, states, isTest } = filter;
    const isListed = [deviceIds, roomIds, states, isTest].every((wanted) => wanted === undefined);
    return answering(async () => {
      const counts: AlarmCounts[] = boundsMs.slice(1).map(() => ({}));
      const add = (at: number, kind: AlarmKind, count: number) => {
        const bucket = counts[at];
        if (bucket !== undefined) bucket[kind] = (bucket[kind] ?? 0) + count;
      };
      if (isListed) await this.#countIndexes(filter, boundsMs, add);
      else await this.#countRecords(filter, boundsMs, add);
      return counts;
    });
  }

  /** Counts alarms by their indexes, when the filter needs nothing from their records. */
  async #countIndexes(
    { scopes, kinds }: AlarmFilter,
    boundsMs: readonly number[],
    add: AddCount,
  ): Promise<void> {
    for (const scope of scopes) {
      const prefix = this.#keys.alarmIndexesOf(scope.locationId);
      const groups = await this.#groupsOf(scope);
      // One index after another: Redis serves nobody else while it counts.
      for (const kind of kinds) {
        for (const group of groups) {
          const index = indexOf(prefix, group, kind);
          const found = await this.#turns.take(() =>
            this.#turns.answered(this.#store.run(countAlarms, [index], boundsMs)),
          );
          for (const [at, count] of found) add(at, kind, count);
        }
      }
    }
  }

  /** Counts alarms page by page, oldest first. */
  async #countRecords(
    filter: AlarmFilter,
    boundsMs: readonly number[],
    add: AddCount,
  ): Promise<void> {
    const afterMs = (boundsMs[0] ?? 0) - 1;
    const range = {
      afterMs,
      beforeMs: boundsMs.at(-1),
      order: 'asc',
      // One less than one call reads: the page reads one more to see whether anything follows.
      limit: READ_AT_ONCE - 1,
    } as const;
    let at = 0;
    let upToSequence: number | undefined;
    let position: AlarmPosition | undefined;
    do {
      const query: AlarmQuery = { ...filter, ...range, upToSequence, position };
      const page = await this.#page(query);
      for (const { detectedAtMs, kind } of page.alarms) {
        while (detectedAtMs >= (boundsMs[at + 1] ?? Number.POSITIVE_INFINITY)) at++;
        add(at, kind, 1);
      }
      ({ upToSequence, next: position } = page);
    } while (position !== undefined && filter.isAwaited?.() !== false);
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
      // One more than wanted shows whether anything follows.
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

  /** Reads the next alarms of the indexes and picks those that the query wants. */
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
    const [entries, escalations] = await Promise.all([
      this.#entries(sequences),
      this.#escalationsOf(sequences),
    ]);
    const alarms = entries.map((entry) => [entry[0], recordOf(entry)] as const);
    const damaged = alarms.filter(([, alarm]) => alarm === undefined).length;
    const locationIds = query.scopes.map(({ locationId }) => locationId);
    // A lost alarm must not hide the others.
    if (damaged > 0)
      this.#log?.error(
        { part: 'history', locationIds, damaged },
        'failed to read alarms of a page',
      );
    const found = new Map<number, AlarmRecord>();
    for (const [sequence, alarm] of alarms)
      if (alarm !== undefined && isWanted(alarm, query))
        found.set(sequence, { ...alarm, escalations: escalations.get(sequence) });
    return { listed, found };
  }

  async #entries(sequences: readonly (number | string)[]): Promise<Entry[]> {
    if (sequences.length === 0) return [];
    const args = [this.#keys.alarmStatesPrefix, ...sequences];
    return await this.#store.run(readAlarms, [this.#keys.history], args);
  }

  #escalationsOf(sequences: readonly number[]) {
    return escalationsMade(this.#store, this.#keys, this.#escalations, sequences);
  }

  async #newestSequence(): Promise<number> {
    const { history } = this.#keys;
    const [newest] = await this.#store.read((redis) =>
      redis.xrevrange(history, '+', '-', 'COUNT', 1),
    );
    return newest === undefined ? 0 : Number.parseInt(newest[0], 10);
  }

  /**
   * The indexes of the wanted devices, or of the wanted groups and kinds.
   *
   * If only open alarms are wanted, the indexes of these: a history has a thousand resolved alarms for each open one.
   */
  async #indexesFor({ scopes, deviceIds, states, kinds }: AlarmQuery): Promise<string[]> {
    const keys = this.#keys;
    if (deviceIds !== undefined) {
      return scopes.flatMap(({ locationId }) =>
        deviceIds.map((deviceId) => keys.deviceAlarms(locationId, deviceId)),
      );
    }
    const areOpen = states?.includes('resolved') === false;
    const indexes = await Promise.all(
      scopes.map(async (scope) => {
        const { locationId } = scope;
        const prefix = areOpen
          ? keys.openAlarmIndexesOf(locationId)
          : keys.alarmIndexesOf(locationId);
        const groups = await this.#groupsOf(scope);
        return groups.flatMap((group) => kinds.map((kind) => indexOf(prefix, group, kind)));
      }),
    );
    return indexes.flat();
  }

  /** The groups of the scope that have alarms; '' for none. */
  async #groupsOf({ locationId, groupIds }: AlarmScope): Promise<string[]> {
    const key = this.#keys.alarmGroups(locationId);
    const stored = await this.#store.read((redis) => redis.smembers(key));
    return stored.filter((group) => groupIds === undefined || groupIds.includes(group));
  }
}

/** Undefined if the record is damaged. */
function recordOf([, fields, states]: Entry): AlarmRecord | undefined {
  const alarm = readAlarm(fields);
  const place = alarm && readPlace(alarm.placeText);
  if (alarm === undefined || place === undefined) return undefined;
  const { contextText: _, ...shown } = place;
  const { placeText: _text, ...record } = withFootageOf(alarm, place.device.id);
  return { ...record, ...shown, states: statesOf(alarm.id, states) };
}

/** Ignores the states of another alarm that had the sequence. */
function statesOf(alarmId: string, stored: Buffer) {
  if (stored.length <= UUID_BYTES) return RAISED;
  return uuidText(stored.subarray(0, UUID_BYTES)) === alarmId ? readStates(stored) : RAISED;
}

/** The index of the alarms of one kind in one group. */
function indexOf(prefix: string, group: string, kind: AlarmKind): string {
  return `${prefix}${group}:${kindNumber(kind)}`;
}

function isWanted(alarm: AlarmRecord, query: AlarmQuery): boolean {
  const { scopes, roomIds, kinds, states, isTest } = query;
  if (isTest !== undefined && isTest !== (alarm.isTest === true)) return false;
  const scope = scopes.find(({ locationId }) => locationId === alarm.location.id);
  const isAmong = (wanted: readonly string[] | undefined, place: AlarmRecord['room']) =>
    wanted === undefined || wanted.includes(place?.id ?? '');
  const isInState = states === undefined || states.includes(alarm.states.state);
  const isInScope = scope !== undefined && isAmong(scope.groupIds, alarm.group);
  return isInScope && isAmong(roomIds, alarm.room) && kinds.includes(alarm.kind) && isInState;
}
