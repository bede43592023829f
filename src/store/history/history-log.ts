/**
 * Writes batches into the history and reads them back for those who lag: one stream, in which everything that has the
 * guarantees of an alarm is stored once, and rendered by the code that renders the live message.
 */
import type { Logger } from 'pino';
import { z } from 'zod';
import type { HistoryReader } from '../../delivery/feed.js';
import type { Entry } from '../../delivery/message.js';
import type {
  Appended,
  FoundAlarm,
  HistoryStore,
  NewEntry,
  Numbers,
} from '../../delivery/new-entry.js';
import type { QueuePage } from '../../delivery/queue.js';
import { readStates } from '../../domain/alarm-state.js';
import { uuidBytes } from '../../domain/ids.js';
import { PLAUSIBLE_FROM_MS } from '../../domain/time.js';
import { GatewayError } from '../../errors.js';
import type { Retention } from '../../releasers.js';
import type { AuditEntry } from '../../site/audit-trail.js';
import type { StoreHeadroom } from '../../site/health/store-headroom.js';
import type { Keys } from '../keys.js';

import { type Packable, Script } from '../scripts.js';
import type { RecordToWrite, Store } from '../store.js';
import type { AlarmName } from './alarm-history.js';
import {
  digestPlace,
  type ReadAlarm,
  type ReadPlace,
  ReadPlaces,
  type Row,
  readAlarm,
  readEntry,
  readPlace,
  rowOf,
  SharedTexts,
} from './entries.js';

const numbersSchema = z.array(z.number());
const append = new Script(
  'append',
  z.tuple([numbersSchema, numbersSchema]).rest(z.array(z.string())),
);
const bytes = z.instanceof(Buffer);
const find = new Script(
  'find',
  z.union([
    z.tuple([bytes.transform(String), z.array(bytes), bytes.transform(String)]),
    z.tuple([]),
  ]),
  { hasBytes: true },
);

/** Entries of others between two of a queue. */
const MAX_GAP = 8;

/** The error that Redis itself gives a little later. */
const FULL = 'OOM the last of the memory is for what makes room';

/** An alarm found by its id, with its record. */
export interface StoredAlarm extends FoundAlarm {
  readonly record: ReadAlarm;
  readonly place: ReadPlace;
}

/** Finds an alarm by its id; undefined if the location or the device has none with that id. */
export async function findAlarm(
  store: Store,
  { locationId, alarmId, deviceId = '' }: Partial<AlarmName> & Pick<AlarmName, 'alarmId'>,
): Promise<StoredAlarm | undefined> {
  const id = uuidBytes(alarmId);
  const args = { id, location: locationId ?? '', device: deviceId };
  const [sequence, fields = [], statesText = ''] = await store.run(find, args);
  const record = readAlarm(fields);
  const place = record && readPlace(record.placeText);
  if (sequence === undefined || record === undefined || place === undefined) return undefined;
  return {
    id: record.id,
    deviceId: place.device.id,
    kind: record.kind,
    groupId: place.group?.id ?? null,
    sequence,
    placeText: record.placeText,
    states: readStates(statesText),
    statesText,
    record,
    place,
  };
}

export interface HistoryLogOptions {
  /** Two connections, so that no page read delays an alarm. */
  readonly writer: Store;
  readonly reader: Store;
  readonly keys: Keys;
  readonly headroom: Pick<StoreHeadroom, 'isFull'>;
  readonly recordOf: (entry: AuditEntry) => RecordToWrite;
  readonly log: Logger;
}

export class HistoryLog implements HistoryStore, HistoryReader {
  readonly #options: HistoryLogOptions;
  readonly #shared = new SharedTexts();
  readonly #places = new ReadPlaces();

  constructor(options: HistoryLogOptions) {
    this.#options = options;
  }

  /** @throws Error with the reply code `OOM` when the store is full, except for the room reserved for making room */
  async append(
    entries: readonly NewEntry[],
    destinations: readonly (readonly string[])[],
    { known, above }: Numbers,
  ): Promise<Appended> {
    const { writer, headroom, keys, recordOf } = this.#options;
    if (headroom.isFull) throw new Error(FULL);
    const rows = entries.map((entry) => rowOf(entry, keys, this.#shared, recordOf));
    const sets = new Numbered(destinations);
    const names = new Numbered(sets.values.flat());
    const places = new Numbered(rows.map(({ placeText }) => placeText));
    const indexes = new Numbered(rows.map((row) => row.indexes));
    const [numbers, lengths, unusable] = await writer.run(append, {
      known,
      above,
      destinations: names.values,
      sets: sets.values.map((set) => set.map((name) => names.of(name))),
      places: places.values,
      indexes: indexes.values,
      rows: rows.map((row, index) =>
        packableOf(row, {
          set: sets.of(destinations[index] ?? []),
          place: places.of(row.placeText),
          indexes: indexes.of(row.indexes),
        }),
      ),
    });
    if (unusable !== undefined) return { unusable };
    const backlogs = new Map(names.values.map((name, index) => [name, lengths[index] ?? 0]));
    return { numbers, backlogs };
  }

  /** Finds an alarm by its id. */
  find(alarm: Partial<AlarmName> & Pick<AlarmName, 'alarmId'>): Promise<StoredAlarm | undefined> {
    return findAlarm(this.#options.writer, alarm);
  }

  async read(after: number, count: number): Promise<QueuePage> {
    const rows = await this.#rows(after + 1, '+', count);
    const { entries } = this.#entriesOf(rows);
    const reached = rows.at(-1)?.[0] ?? 0;
    // Lost and damaged entries are left out: they must not hold up the others.
    return { entries, missing: [], reached, isEnd: rows.length < count };
  }

  /**
   * Reads the entries with these rising numbers.
   *
   * @returns the entries, and the numbers of those that are gone or unreadable
   */
  async entriesAt(numbers: readonly number[]) {
    const runs = runsOf(numbers);
    const rows = await Promise.all(
      runs.map(([first, last]) => this.#rows(first, last, last - first + 1)),
    );
    const found = new Map(rows.flat());
    return this.#entriesOf(numbers.map((number) => [number, found.get(number) ?? []]));
  }

  async oldest(): Promise<number> {
    const { reader, keys } = this.#options;
    const [oldest] = await reader.read((redis) => redis.xrange(keys.history, '-', '+', 'COUNT', 1));
    return oldest === undefined ? 0 : Number.parseInt(oldest[0], 10);
  }

  /** The number of the newest entry: the counter's, or the history's own if the counter is lower. */
  async newest(): Promise<number> {
    const { reader, keys } = this.#options;
    const [counter, [newest]] = await Promise.all([
      reader.read((redis) => redis.get(keys.historySequence)),
      reader.read((redis) => redis.xrevrange(keys.history, '+', '-', 'COUNT', 1)),
    ]);
    return Math.max(
      Number(counter) || 0,
      newest === undefined ? 0 : Number.parseInt(newest[0], 10),
    );
  }

  async #rows(first: number, last: number | '+', count: number): Promise<StreamRow[]> {
    const { reader, keys } = this.#options;
    const reply: unknown = await reader.read((redis) =>
      redis.xrangeBuffer(keys.history, String(first), String(last), 'COUNT', count),
    );
    return streamRows(reply);
  }

  /** The messages of entries, with the numbers of those that are gone or unreadable. */
  #entriesOf(rows: readonly StreamRow[]) {
    const entries: Entry[] = [];
    const missing: number[] = [];
    for (const [sequence, fields] of rows) {
      const entry = readEntry(sequence, fields, (text) => this.#places.of(text));
      if (entry === undefined) missing.push(sequence);
      else entries.push(entry);
    }
    const damaged = rows.filter(([at, fields]) => fields.length > 0 && missing.includes(at));
    if (damaged.length > 0) {
      const sequences = damaged.map(([sequence]) => sequence);
      this.#options.log.error({ sequences }, 'failed to read entries of the history');
    }
    return { entries, missing };
  }
}

/**
 * The first and last of each run of numbers. Reading a few entries between two of them costs less than another question.
 */
function runsOf(numbers: readonly number[]): [first: number, last: number][] {
  const runs: [number, number][] = [];
  for (const number of numbers) {
    const run = runs.at(-1);
    if (run !== undefined && number - run[1] <= MAX_GAP) run[1] = number;
    else runs.push([number, number]);
  }
  return runs;
}

/** Different values, numbered from 1: most entries of a batch share theirs. */
class Numbered<Value> {
  readonly #numbers = new Map<Value, number>();

  constructor(values: readonly Value[]) {
    for (const value of values)
      if (!this.#numbers.has(value)) this.#numbers.set(value, this.#numbers.size + 1);
  }

  get values(): Value[] {
    return [...this.#numbers.keys()];
  }

  of(value: Value): number {
    return this.#numbers.get(value) ?? 0;
  }
}

function packableOf(
  row: Row,
  at: { readonly set: number; readonly place: number; readonly indexes: number },
): Packable {
  const { piece, field } = digestPlace(row.id);
  return [
    at.set,
    row.placeText === '' ? 0 : at.place,
    row.indexes.length === 0 ? 0 : at.indexes,
    row.score,
    row.id,
    String(piece),
    field,
    row.deviceId,
    row.fields,
    row.receipt,
    row.condition,
    row.commands.length > 0 && row.commands,
    row.records.length > 0 && row.records,
  ];
}

/** The entries of a stream: the number of each, and alternating names and values. */
export type StreamRow = readonly [sequence: number, fields: readonly Buffer[]];

/** Reads the answer of XRANGE without zod: a page of a backlog has thousands of fields. */
export function streamRows(reply: unknown): StreamRow[] {
  if (!Array.isArray(reply)) throw unreadable();
  return reply.map((row: unknown): StreamRow => {
    if (!Array.isArray(row)) throw unreadable();
    const [id, fields]: unknown[] = row;
    if (!(id instanceof Buffer) || !areBuffers(fields)) throw unreadable();
    return [Number.parseInt(id.toString(), 10), fields];
  });
}

/** Whether these are the fields of a stream entry: alternating names and values. */
function areBuffers(fields: unknown): fields is Buffer[] {
  return Array.isArray(fields) && fields.every((field) => field instanceof Buffer);
}

/** The error for an answer without the shape that Redis promises. */
function unreadable(): GatewayError {
  return new GatewayError(
    'internal-error',
    'The store answered with something other than a stream.',
  );
}

const expireHistory = new Script('expire-history', z.number());

/** Redis serves nobody else while a script runs: a few milliseconds for this many. */
const ENTRIES_PER_CALL = 200;

/**
 * Removes entries from the history by age (contract 5).
 *
 * @param now the clock that measures ages
 * @param queuedFrom the number of the first entry that may be in a queue: queues have no records but those of the history
 */
export function historyRetention(
  store: Store,
  maxAgeMs: number,
  now: () => number,
  queuedFrom: () => Promise<number>,
): Retention {
  return {
    removeOld: async (stopping) => {
      const args = { beforeMs: now() - maxAgeMs, plausibleMs: PLAUSIBLE_FROM_MS };
      const first = await queuedFrom();
      let total = 0;
      while (!stopping.aborted) {
        const count = ENTRIES_PER_CALL;
        const removed = await store.run(expireHistory, { ...args, queuedFrom: first, count });
        total += removed;
        if (removed < ENTRIES_PER_CALL) break;
      }
      return total;
    },
  };
}
