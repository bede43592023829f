import type { Logger } from 'pino';
import { z } from 'zod';
import type { AlarmState } from '../../domain/alarm-states.js';
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
import {
  kindNumber,
  type ReadPlace,
  readAlarm,
  readPlace,
  withFootageOf,
} from './alarm-records.js';
import { readStates } from './alarm-state-records.js';

const bytes = z.instanceof(Buffer);
const text = bytes.transform(String);
const number = text.pipe(z.coerce.number());
const alarmPage = new Script(
  'alarm-page',
  z.tuple([
    number,
    text.pipe(z.enum(['end', 'full', 'paused'])),
    z.union([z.tuple([number, number]), z.tuple([])]),
    z.array(z.tuple([number, number, z.array(bytes), bytes])),
    z.array(z.tuple([text, text])),
  ]),
  { hasBytes: true },
);

/** States as stored (change-alarm-state.lua). */
const STATE_LETTERS: Readonly<Record<AlarmState, string>> = {
  raised: '-',
  acknowledged: 'a',
  resolved: 'r',
};
/** Digits of a member of an alarm index (append-alarms.lua). */
const MEMBER_DIGITS = 12;
/**
 * How many alarms newer than the first page, or in other states, one call passes over. Redis serves nobody else while a script
 * runs: about a millisecond for this many.
 */
const PASSED_PER_CALL = 1_000;

/** The alarm history in Redis. */
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

  async page(query: AlarmQuery): Promise<AlarmPage> {
    const indexes = this.#indexesFor(query);
    let page = await this.#read(query, indexes);
    while (page.isPaused && query.isAwaited?.() !== false) {
      const { alarms, upToSequence, reached = query.position } = page;
      const limit = query.limit - alarms.length;
      const further = { ...query, limit, upToSequence, position: reached };
      const rest = await this.#turns.take(() => this.#turns.answered(this.#read(further, indexes)));
      page = { ...rest, alarms: [...alarms, ...rest.alarms], reached: rest.reached ?? reached };
    }
    const { alarms, upToSequence, isEnd, reached } = page;
    return { alarms, upToSequence, next: isEnd ? undefined : reached };
  }

  /** Those of open alarms alone, where nothing else is asked for: a history has a thousand resolved ones for each. */
  #indexesFor({ locationId, deviceId, states }: AlarmQuery): string {
    const keys = this.#keys;
    const isOpenOnly = deviceId === undefined && states?.includes('resolved') === false;
    return isOpenOnly
      ? keys.openAlarmIndexesOf(locationId)
      : keys.alarmIndexesOf(locationId, deviceId);
  }

  async #read(query: AlarmQuery, indexes: string) {
    const { locationId, deviceId } = query;
    const keys = this.#keys;
    const [upToSequence, ending, reached, rows, placeRows] = await answering(() =>
      this.#store.run(
        alarmPage,
        [keys.history, keys.alarmGroups(locationId, deviceId)],
        [indexes, keys.alarmPlacePrefix, keys.alarmStatesPrefix, ...argumentsOf(query)],
      ),
    );
    const places = new Map(placeRows.map(([digest, place]) => [digest, readPlace(place)]));
    const alarms = rows.flatMap(([, , fields, states]) => recordOf(fields, states, places) ?? []);
    const damaged = rows.length - alarms.length;
    // A lost alarm must not hide the others.
    if (damaged > 0) this.#log?.error({ locationId, damaged }, 'failed to read alarms of a page');
    return {
      upToSequence,
      isEnd: ending === 'end',
      isPaused: ending === 'paused',
      reached: positionOf(reached),
      alarms,
    };
  }
}

/** Undefined when the record or its place is lost or damaged. */
function recordOf(
  fields: readonly Buffer[],
  states: Buffer,
  places: ReadonlyMap<string, ReadPlace | undefined>,
): AlarmRecord | undefined {
  const alarm = readAlarm(fields);
  const place = alarm && places.get(alarm.placeDigest);
  if (alarm === undefined || place === undefined) return undefined;
  return { ...withFootageOf(alarm, place.device.id), ...place, states: readStates(states) };
}

function argumentsOf(query: AlarmQuery): (string | number)[] {
  const { order, afterMs, beforeMs, limit, upToSequence, position, kinds, groupIds } = query;
  return [
    query.states?.map((state) => STATE_LETTERS[state]).join('') ?? '',
    ...[order, afterMs ?? '', beforeMs ?? ''],
    ...[limit, PASSED_PER_CALL],
    upToSequence ?? '',
    position?.detectedAtMs ?? '',
    position === undefined ? '' : String(position.sequence).padStart(MEMBER_DIGITS, '0'),
    ...[kinds.length, ...kinds.map(kindNumber)],
    ...(groupIds ?? ['*']),
  ];
}

function positionOf(reached: readonly number[]): AlarmPosition | undefined {
  const [detectedAtMs, sequence] = reached;
  if (detectedAtMs === undefined || sequence === undefined) return undefined;
  return { detectedAtMs, sequence };
}
