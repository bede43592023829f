import { itemOf, type LogEntry, sequenceOf, tagOf } from '../delivery/log/log-entry.js';
import type { QueuePage } from '../delivery/queues/queue-store.js';
import { unlessOfAnotherType } from './failures.js';
import type { Keys } from './keys.js';
import type { Store } from './store.js';
import { readStream, type StreamRow } from './streams.js';

const NO_PAYLOAD = Buffer.alloc(0);
/** A page takes about so much memory, whatever the size of its entries. */
const PAGE_BYTES = 4 * 1024 * 1024;
const MIN_ENTRIES = 4;
/** What is read at once while the size of entries is not known. */
const FIRST_BYTES_OF_ENTRY = 65_536;
/** A large entry is remembered for some reads. */
const DECAY = 0.9;

/** Reads the streams of messages other than alarms, a page at a time (append-values.lua). */
export class ValuePages {
  readonly #reader: Store;
  readonly #keys: Keys;
  /** The largest of the entries read last, about. */
  #bytesOfEntry = FIRST_BYTES_OF_ENTRY;

  constructor(reader: Store, keys: Keys) {
    this.#reader = reader;
    this.#keys = keys;
  }

  async page(destination: string, after: number, count: number): Promise<QueuePage> {
    const fitting = Math.max(MIN_ENTRIES, Math.floor(PAGE_BYTES / this.#bytesOfEntry));
    const wanted = Math.min(count, fitting);
    const key = this.#keys.values(destination);
    const from = after === 0 ? '-' : `(${idOf(after)}`;
    const reading = readStream(this.#reader, key, from, '+', wanted);
    const rows = (await unlessOfAnotherType(reading)) ?? [];
    const entries = rows.map(entryOf);
    const sizes = entries.map(({ topic, payload }) => topic.length + payload.length);
    this.#bytesOfEntry = Math.max(1, this.#bytesOfEntry * DECAY, ...sizes);
    return { entries, missing: [], isEnd: rows.length < wanted };
  }
}

/** The id of an item's entry. */
export function idOf(item: number): string {
  return `${sequenceOf(item)}-${tagOf(item)}`;
}

/** Reads the fields in the order in which append-values.lua writes them. */
function entryOf({ sequence, tag, fields }: StreamRow): LogEntry {
  const [, topic, , payload, , receivedAtMs, , locationId, , groupId] = fields;
  return {
    log: 'messages',
    sequence,
    item: itemOf(sequence, tag),
    topic: topic?.toString() ?? '',
    payload: payload ?? NO_PAYLOAD,
    receivedAtMs: Number(receivedAtMs),
    locationId: locationId?.toString() || null,
    groupId: groupId?.toString() || null,
  };
}
