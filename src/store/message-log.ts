import { z } from 'zod';
import type { Appended, LogEntry, NewMessage } from '../delivery/log/log-entry.js';
import { storedBytesOf } from '../site/health/store-headroom.js';
import { type LogConnections, requireHeadroom } from './alarms/alarm-log.js';
import type { Keys } from './keys.js';
import { packRows, Script } from './scripts.js';
import { readStream, type StreamRow } from './streams.js';

const appendMessages = new Script('append-messages', z.array(z.number()));
const NO_PAYLOAD = Buffer.alloc(0);
/** A page takes about so much memory, whatever the size of its entries. */
const PAGE_BYTES = 4 * 1024 * 1024;
const MIN_ENTRIES = 4;
/** What is read at once while the size of entries is not known. */
const FIRST_BYTES_OF_ENTRY = 65_536;
/** A large entry is remembered for some reads. */
const DECAY = 0.9;
/** Parts of a stream that Redis looks at to tell its size: some microseconds. */
const SAMPLES = 100;

/** The message log in Redis: a stream of everything at QoS 1 but alarms. */
export class MessageLog {
  readonly #connections: LogConnections;
  readonly #key: string;
  readonly #appendKeys: readonly string[];
  readonly #receivedPrefix: string;
  /** The largest of the entries read last, about. */
  #bytesOfEntry = FIRST_BYTES_OF_ENTRY;

  constructor(connections: LogConnections, keys: Keys) {
    this.#connections = connections;
    this.#key = keys.messageLog;
    this.#appendKeys = [keys.logSequence('messages'), keys.messageLog];
    this.#receivedPrefix = keys.receivedPrefix;
  }

  /**
   * One atomic write, durable when the promise resolves.
   *
   * @throws GatewayError `store-unavailable` when the store is full
   */
  async append(messages: readonly NewMessage[]): Promise<Appended[]> {
    requireHeadroom(this.#connections);
    const rows = messages.map(({ topic, payload, receivedAtMs, received, ...audience }) => [
      ...[topic, payload, Math.round(receivedAtMs)],
      ...[audience.locationId ?? '', audience.groupId ?? ''],
      ...[received?.session ?? '', String(received?.packetIdentifier ?? '')],
    ]);
    const args = [this.#receivedPrefix, packRows(rows)];
    const sequences = await this.#connections.writer.run(appendMessages, this.#appendKeys, args);
    this.#connections.headroom.stored(
      messages.reduce((bytes, message) => bytes + storedBytesOf(message), 0),
    );
    return sequences.map((sequence) => ({ sequence, isNew: true }));
  }

  async read(from: string, to: string, count: number): Promise<LogEntry[]> {
    const entries: LogEntry[] = [];
    for (let [start, bytes] = [from, 0]; entries.length < count && bytes < PAGE_BYTES; ) {
      const fitting = Math.max(MIN_ENTRIES, Math.floor((PAGE_BYTES - bytes) / this.#bytesOfEntry));
      const wanted = Math.min(count - entries.length, fitting);
      const rows = await readStream(this.#connections.reader, this.#key, start, to, wanted);
      for (const row of rows) {
        const entry = entryOf(row);
        entries.push(entry);
        bytes += entry.payload.length;
      }
      this.#noteSizes(entries.slice(-rows.length));
      if (rows.length < wanted) break;
      start = String((entries.at(-1)?.sequence ?? 0) + 1);
    }
    return entries;
  }

  /** About how many bytes of the store's memory the log takes. */
  async bytes(): Promise<number> {
    const { reader } = this.#connections;
    const usage = reader.read((redis) => redis.memory('USAGE', this.#key, 'SAMPLES', SAMPLES));
    return (await usage) ?? 0;
  }

  #noteSizes(entries: readonly LogEntry[]): void {
    const sizes = entries.map(({ topic, payload }) => topic.length + payload.length);
    this.#bytesOfEntry = Math.max(1, this.#bytesOfEntry * DECAY, ...sizes);
  }

  /** Counts the stored entries. */
  async length(): Promise<number> {
    return this.#connections.reader.read((redis) => redis.xlen(this.#key));
  }

  /** Removes the entries up to and including this one. */
  async trim(upToSequence: number): Promise<void> {
    await this.#connections.reader.write(['XTRIM', this.#key, 'MINID', `${upToSequence + 1}-0`]);
  }

  async remove(sequences: readonly number[]): Promise<void> {
    if (sequences.length === 0) return;
    const ids = sequences.map((sequence) => `${sequence}-0`);
    await this.#connections.reader.write(['XDEL', this.#key, ...ids]);
  }
}

/** Reads the fields in the order in which append-messages.lua writes them. */
function entryOf({ sequence, fields }: StreamRow): LogEntry {
  const [, topic, , payload, , receivedAtMs, , locationId, , groupId] = fields;
  return {
    log: 'messages',
    sequence,
    topic: topic?.toString() ?? '',
    payload: payload ?? NO_PAYLOAD,
    receivedAtMs: Number(receivedAtMs),
    locationId: locationId?.toString() || null,
    groupId: groupId?.toString() || null,
  };
}
