/** Pages, counts and single alarms of the history, as HTTP shows them, and what became of each alarm. */
import type { Logger } from 'pino';
import { z } from 'zod';
import type { AlarmKind, FootageType } from '../../domain/alarm.js';
import { type AlarmState, type AlarmStateRecord, readStates } from '../../domain/alarm-state.js';
import type { NamedPlace } from '../../domain/messages.js';
import { StoreTurns } from '../../site/changes.js';
import { Script } from '../scripts.js';
import type { Store } from '../store.js';
import { answering } from '../store.js';
import { kindNumber, type ReadAlarm, type ReadPlace, ReadPlaces, readAlarm } from './entries.js';
import { findAlarm } from './history-log.js';

const bytes = z.instanceof(Buffer);
const text = bytes.transform(String);
const listedSchema = z.tuple([
  text.transform(Number),
  text.transform(Number),
  z.array(bytes),
  text,
]);
const list = new Script('list', z.tuple([z.number(), z.array(listedSchema)]), { hasBytes: true });
const countIndex = new Script('count', z.array(z.tuple([z.number(), z.number()])));
const findDeliveries = new Script('deliveries', z.tuple([z.array(z.string()), z.string()]));

/** The most alarms in one call. Redis serves nobody else while a script runs: a few milliseconds for this many. */
const READ_AT_ONCE = 1_001;
/** As shared/proofs.lua writes them. */
const NUMBERS_PER_PROOF = 100;
const PROOF = /^(\d+) ([dex]) (\d+) (.*)$/s;
const STATES = new Map<string | undefined, AlarmDelivery['state']>([
  ['d', 'delivered'],
  ['e', 'expired'],
  ['x', 'dropped'],
]);
const SEQUENCE_WIDTH = 12;

/** An alarm in the history, with its place at the time of its receipt. */
export interface AlarmRecord extends NamedPlace {
  readonly id: string;
  readonly kind: AlarmKind;
  readonly detectedAtMs: number;
  readonly receivedAtMs: number;
  /** Object keys of its recordings. */
  readonly footage: Readonly<Partial<Record<FootageType, string>>>;
  /** JSON text of the device's other fields, undefined when there were none. */
  readonly data: string | undefined;
  /** The payload in base64, if it was not JSON. */
  readonly base64?: string | undefined;
  /** Whether the payload should have been JSON, and only its kind could be read. */
  readonly isMalformed?: boolean | undefined;
  readonly isTest?: boolean | undefined;
  /** Who has given it which state. */
  readonly states: AlarmStateRecord;
}

export type AlarmOrder = 'asc' | 'desc';

/** Where a page starts: after the last alarm of the page before. */
export interface AlarmPosition {
  readonly detectedAtMs: number;
  /** The history's own tie-breaker among alarms with equal `detectedAt`. */
  readonly sequence: number;
}

/** A location, or some groups of it. */
export interface AlarmScope {
  readonly locationId: string;
  /** Only alarms that happened in one of these groups; undefined: anywhere, also outside groups. */
  readonly groupIds: readonly string[] | undefined;
}

/** Selects alarms by everything except the time. */
export interface AlarmFilter {
  readonly scopes: readonly AlarmScope[];
  /** Only alarms of these devices; undefined: of all. */
  readonly deviceIds: readonly string[] | undefined;
  /** Only alarms that happened in one of these rooms; undefined: anywhere. */
  readonly roomIds: readonly string[] | undefined;
  readonly kinds: readonly AlarmKind[];
  /** Only tests, or none of them; undefined: all. */
  readonly isTest?: boolean | undefined;
  /** Only alarms that are in one of these states when the page is read; undefined: in any. */
  readonly states?: readonly AlarmState[] | undefined;
  /** Whether anybody still waits for the answer; asked before each further round trip. */
  readonly isAwaited?: (() => boolean) | undefined;
}

export interface AlarmQuery extends AlarmFilter {
  /** Exclusive bounds. */
  readonly beforeMs: number | undefined;
  readonly afterMs: number | undefined;
  readonly order: AlarmOrder;
  readonly limit: number;
  /** Alarms recorded after this one, and so after the first page was read, are left out. */
  readonly upToSequence: number | undefined;
  readonly position: AlarmPosition | undefined;
}

export interface AlarmPage {
  readonly alarms: readonly AlarmRecord[];
  /** Where the next page starts, undefined on the last one. */
  readonly next: AlarmPosition | undefined;
  readonly upToSequence: number;
}

/** Identifies an alarm. */
export interface AlarmName {
  readonly locationId: string;
  readonly alarmId: string;
  /** Undefined: of any device. */
  readonly deviceId?: string | undefined;
}

/** What became of an alarm for one destination. */
export interface AlarmDelivery {
  /** Its name in the store: the session's key. */
  readonly destination: string;
  readonly state: 'queued' | 'delivered' | 'expired' | 'dropped';
  /** When, by the machine's clock; for a queued alarm, when it was received. */
  readonly atMs: number;
}

/** The number of alarms of each kind that has any. */
export type AlarmCounts = Partial<Record<AlarmKind, number>>;

type AddCount = (at: number, kind: AlarmKind, count: number) => void;

export class AlarmHistory {
  readonly #store: Store;
  readonly #log: Logger;
  readonly #turns = new StoreTurns();
  readonly #places = new ReadPlaces();

  constructor(store: Store, log: Logger) {
    this.#store = store;
    this.#log = log;
  }

  /**
   * Reads a page in three round trips to the store. It is full unless it is the last or nobody waits for it.
   *
   * Each thousand skipped alarms cost two more round trips: alarms that came after the first page, or are of another
   * kind, group or state. These further trips are made for one page after another: together they would keep the
   * store from everything else.
   *
   * @throws GatewayError `store-unavailable`
   */
  page(query: AlarmQuery): Promise<AlarmPage> {
    return answering(() => this.#page(query));
  }

  /**
   * Finds an alarm by its id; the newest one if several devices use it.
   *
   * @throws GatewayError `store-unavailable`
   */
  find(alarm: AlarmName): Promise<AlarmRecord | undefined> {
    return answering(async () => {
      const found = await findAlarm(this.#store, alarm);
      return found && shown(found.record, found.place, found.statesText);
    });
  }

  /**
   * Finds what became of an alarm for each destination whose queue has, or had, it.
   *
   * @returns undefined when there is no such alarm
   * @throws GatewayError `store-unavailable`
   */
  deliveries(alarm: AlarmName): Promise<AlarmDelivery[] | undefined> {
    return answering(async () => {
      const found = await findAlarm(this.#store, alarm);
      if (found === undefined) return undefined;
      const number = Number(found.sequence);
      const [queued, proofs] = await this.#store.run(findDeliveries, { number });
      const waiting = queued.map((destination): AlarmDelivery => {
        return { destination, state: 'queued', atMs: found.record.receivedAtMs };
      });
      const settled = proofs.split('\0').flatMap((proof): AlarmDelivery[] => {
        const [, last, letter, atMs, destination = ''] = PROOF.exec(proof) ?? [];
        const state = STATES.get(letter);
        const isIt = Number(last) === number % NUMBERS_PER_PROOF && state !== undefined;
        return isIt ? [{ destination, state, atMs: Number(atMs) }] : [];
      });
      return [...waiting, ...settled].sort((one, other) => one.atMs - other.atMs);
    });
  }

  /**
   * Counts alarms by kind, for each pair of neighbouring bounds, by when they were detected.
   *
   * To count only certain devices, rooms, states or tests, it reads the alarms, a thousand at a time.
   *
   * @param boundsMs two or more, in ascending order; a pair includes its lower bound, but not its upper one
   * @throws GatewayError `store-unavailable`
   */
  counts(filter: AlarmFilter, boundsMs: readonly number[]): Promise<AlarmCounts[]> {
    const { deviceIds, roomIds, states, isTest, scopes } = filter;
    const isListed =
      [deviceIds, roomIds, states, isTest].every((wanted) => wanted === undefined) &&
      scopes.every(({ groupIds }) => groupIds === undefined);
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
    const bounds = boundsMs.map(String);
    for (const { locationId } of scopes) {
      // One index after another: Redis serves nobody else while it counts.
      for (const kind of kinds) {
        const index = `alarms:${locationId}:${kindNumber(kind)}`;
        const found = await this.#turns.take(() =>
          this.#turns.answered(this.#store.run(countIndex, { index, bounds })),
        );
        for (const [at, count] of found) add(at, kind, count);
      }
    }
  }

  /** Counts alarms page by page, oldest first. */
  async #countRecords(
    filter: AlarmFilter,
    boundsMs: readonly number[],
    add: AddCount,
  ): Promise<void> {
    const range = {
      afterMs: (boundsMs[0] ?? 0) - 1,
      beforeMs: boundsMs.at(-1),
      order: 'asc',
      // One less than one call reads: the page reads one more to see whether anything follows.
      limit: READ_AT_ONCE - 1,
    } as const;
    let at = 0;
    let upToSequence: number | undefined;
    let position: AlarmPosition | undefined;
    do {
      const page = await this.#page({ ...filter, ...range, upToSequence, position });
      for (const { detectedAtMs, kind } of page.alarms) {
        while (detectedAtMs >= (boundsMs[at + 1] ?? Number.POSITIVE_INFINITY)) at++;
        add(at, kind, 1);
      }
      ({ upToSequence, next: position } = page);
    } while (position !== undefined && filter.isAwaited?.() !== false);
  }

  async #page(query: AlarmQuery): Promise<AlarmPage> {
    const alarms: AlarmRecord[] = [];
    let { position, upToSequence } = query;
    let isFirst = true;
    do {
      // One more than wanted shows whether anything follows.
      const count = isFirst ? Math.min(query.limit + 1, READ_AT_ONCE) : READ_AT_ONCE;
      const from = { ...query, position, upToSequence };
      const read = () => this.#read(from, count);
      const { newest, listed } = isFirst
        ? await read()
        : await this.#turns.take(() => this.#turns.answered(read()));
      upToSequence ??= newest;
      for (const { at, alarm } of listed) {
        const isWantedHere = alarm !== undefined && at.sequence <= upToSequence;
        if (isWantedHere && alarms.length === query.limit)
          return { alarms, upToSequence, next: position };
        if (isWantedHere) alarms.push(alarm);
        position = at;
      }
      if (listed.length < count) return { alarms, upToSequence, next: undefined };
      isFirst = false;
    } while (query.isAwaited?.() !== false);
    return { alarms, upToSequence, next: position };
  }

  /** Reads the next alarms of the indexes and picks those that the query wants. */
  async #read(query: AlarmQuery, count: number) {
    const { order, afterMs, beforeMs, position, upToSequence, scopes } = query;
    const [newest, rows] = await this.#store.run(list, {
      indexes: indexesFor(query),
      isAscending: order === 'asc',
      afterMs: String(afterMs ?? ''),
      beforeMs: String(beforeMs ?? ''),
      position: position !== undefined && [
        String(position.detectedAtMs),
        String(position.sequence).padStart(SEQUENCE_WIDTH, '0'),
      ],
      count,
      upTo: upToSequence ?? 0,
    });
    let damaged = 0;
    const listed = rows.map(([sequence, detectedAtMs, fields, statesText]) => {
      const record = readAlarm(fields);
      const place = record && this.#places.of(record.placeText);
      const alarm = record && place && shown(record, place, statesText);
      if (fields.length > 0 && alarm === undefined) damaged++;
      const wanted = alarm !== undefined && isWanted(alarm, query) ? alarm : undefined;
      return { at: { sequence, detectedAtMs }, alarm: wanted };
    });
    // A lost alarm must not hide the others.
    if (damaged > 0) {
      const locationIds = scopes.map(({ locationId }) => locationId);
      const fields = { part: 'history', locationIds, damaged };
      this.#log.error(fields, 'failed to read alarms of a page');
    }
    return { newest, listed };
  }
}

/**
 * The indexes of the wanted devices, or of the wanted kinds.
 *
 * If only open alarms are wanted, the indexes of these: a history has a thousand resolved alarms for each open one.
 */
function indexesFor({ scopes, deviceIds, states, kinds }: AlarmQuery): string[] {
  const prefix = states?.includes('resolved') === false ? 'open-alarms' : 'alarms';
  return scopes.flatMap(({ locationId }) =>
    deviceIds === undefined
      ? kinds.map((kind) => `${prefix}:${locationId}:${kindNumber(kind)}`)
      : deviceIds.map((deviceId) => `alarms:${locationId}:${deviceId}`),
  );
}

function shown(record: ReadAlarm, place: ReadPlace, statesText: string): AlarmRecord {
  const { placeText: _, properties: _properties, steadyAtMs: _steady, ...alarm } = record;
  const { contextText: _text, ...named } = place;
  return { ...alarm, ...named, states: readStates(statesText) };
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
