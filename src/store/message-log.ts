import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { Appended, LogEntry, NewMessage } from '../delivery/log-entry.js';
import type { Keys } from './keys.js';
import { packRows } from './packed.js';
import { Script } from './scripts.js';
import { readStream, type StreamRow } from './streams.js';

const appendMessages = new Script('append-messages', z.array(z.number()));
const NO_PAYLOAD = Buffer.alloc(0);

/** The log of everything that is no alarm and is forwarded at QoS 1: a stream in Redis. */
export class MessageLog {
  readonly #keys: Keys;

  constructor(keys: Keys) {
    this.#keys = keys;
  }

  async append(redis: Redis, messages: readonly NewMessage[]): Promise<Appended[]> {
    const keys = this.#keys;
    const rows = messages.map(({ topic, payload, receivedAtMs, received, ...audience }) => [
      ...[topic, payload, Math.round(receivedAtMs)],
      ...[audience.locationId ?? '', audience.groupId ?? ''],
      ...[received?.clientId ?? '', String(received?.packetIdentifier ?? '')],
    ]);
    const sequences = await appendMessages.run(
      redis,
      [keys.logSequence('messages'), keys.messageLog],
      [keys.receivedPrefix, packRows(rows)],
    );
    return sequences.map((sequence) => ({ sequence, isNew: true }));
  }

  async read(redis: Redis, from: string, to: string, count: number): Promise<LogEntry[]> {
    const rows = await readStream(redis, this.#keys.messageLog, from, to, count);
    return rows.map(entryOf);
  }

  /** How many entries the store keeps. */
  async length(redis: Redis): Promise<number> {
    return redis.xlen(this.#keys.messageLog);
  }

  /** Removes the entries up to and including this one. */
  async trim(redis: Redis, upToSequence: number): Promise<void> {
    await redis.xtrim(this.#keys.messageLog, 'MINID', `${upToSequence + 1}-0`);
  }

  async remove(redis: Redis, sequences: readonly number[]): Promise<void> {
    if (sequences.length === 0) return;
    await redis.xdel(this.#keys.messageLog, ...sequences.map((sequence) => `${sequence}-0`));
  }
}

/** In the order in which append-messages.lua writes the fields. */
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
