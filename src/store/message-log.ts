import { z } from 'zod';
import type { Appended, LogEntry, NewMessage } from '../delivery/log-entry.js';
import type { LogConnections } from './alarm-log.js';
import type { Keys } from './keys.js';
import { packRows, Script } from './scripts.js';
import { readStream, type StreamRow } from './streams.js';

const appendMessages = new Script('append-messages', z.array(z.number()));
const NO_PAYLOAD = Buffer.alloc(0);

/** The message log in Redis: a stream of everything at QoS 1 but alarms. */
export class MessageLog {
  readonly #connections: LogConnections;
  readonly #key: string;
  readonly #appendKeys: readonly string[];
  readonly #receivedPrefix: string;

  constructor(connections: LogConnections, keys: Keys) {
    this.#connections = connections;
    this.#key = keys.messageLog;
    this.#appendKeys = [keys.logSequence('messages'), keys.messageLog];
    this.#receivedPrefix = keys.receivedPrefix;
  }

  /** One atomic write, durable when the promise resolves. */
  async append(messages: readonly NewMessage[]): Promise<Appended[]> {
    const rows = messages.map(({ topic, payload, receivedAtMs, received, ...audience }) => [
      ...[topic, payload, Math.round(receivedAtMs)],
      ...[audience.locationId ?? '', audience.groupId ?? ''],
      ...[received?.session ?? '', String(received?.packetIdentifier ?? '')],
    ]);
    const args = [this.#receivedPrefix, packRows(rows)];
    const sequences = await appendMessages.run(this.#connections.writer, this.#appendKeys, args);
    return sequences.map((sequence) => ({ sequence, isNew: true }));
  }

  async read(from: string, to: string, count: number): Promise<LogEntry[]> {
    const rows = await readStream(this.#connections.reader, this.#key, from, to, count);
    return rows.map(entryOf);
  }

  /** Counts the stored entries. */
  async length(): Promise<number> {
    return this.#connections.reader.xlen(this.#key);
  }

  /** Removes the entries up to and including this one. */
  async trim(upToSequence: number): Promise<void> {
    await this.#connections.reader.xtrim(this.#key, 'MINID', `${upToSequence + 1}-0`);
  }

  async remove(sequences: readonly number[]): Promise<void> {
    if (sequences.length === 0) return;
    const ids = sequences.map((sequence) => `${sequence}-0`);
    await this.#connections.reader.xdel(this.#key, ...ids);
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
