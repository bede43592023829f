import { itemOf, type LogEntry, sequenceOf, tagOf } from '../delivery/log/log-entry.js';
import type { QueuePage } from '../delivery/queues/queue-store.js';
import { unpackProperties } from '../mqtt/message-properties.js';
import { unlessOfAnotherType } from './failures.js';
import type { Keys } from './keys.js';
import { PageSize } from './page-size.js';
import type { Store } from './store.js';
import { readStream, type StreamRow } from './streams.js';

const NO_PAYLOAD = Buffer.alloc(0);

/** Reads the streams of messages other than alarms, a page at a time (append-values.lua). */
export class ValuePages {
  readonly #reader: Store;
  readonly #keys: Keys;
  readonly #size = new PageSize();

  constructor(reader: Store, keys: Keys) {
    this.#reader = reader;
    this.#keys = keys;
  }

  async page(destination: string, after: number, count: number): Promise<QueuePage> {
    const wanted = this.#size.fitting(count);
    const key = this.#keys.values(destination);
    const from = after === 0 ? '-' : `(${idOf(after)}`;
    const reading = readStream(this.#reader, key, from, '+', wanted);
    const rows = (await unlessOfAnotherType(reading)) ?? [];
    const entries = rows.map(entryOf);
    this.#size.noteRead(entries);
    return { entries, missing: [], isEnd: rows.length < wanted };
  }
}

/** The stream id of an item's entry. */
export function idOf(item: number): string {
  return `${sequenceOf(item)}-${tagOf(item)}`;
}

/** Reads the fields in the order that append-values.lua writes them. */
function entryOf({ sequence, tag, fields }: StreamRow): LogEntry {
  const [, topic, , payload, , receivedAtMs, , locationId, , groupId, , properties] = fields;
  return {
    log: 'messages',
    sequence,
    item: itemOf(sequence, tag),
    topic: topic?.toString() ?? '',
    payload: payload ?? NO_PAYLOAD,
    receivedAtMs: Number(receivedAtMs),
    locationId: locationId?.toString() || null,
    groupId: groupId?.toString() || null,
    properties: unpackProperties(properties),
  };
}
