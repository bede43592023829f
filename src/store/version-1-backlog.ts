import type { Redis } from 'ioredis';
import type { LogEntry } from '../delivery/log-entry.js';
import type { Keys } from './keys.js';
import { readStream, type StreamRow } from './streams.js';

/** The end of a payload; version 1 wrote its own without `late`, but with the brace. */
const NOT_LATE = Buffer.from(',"late":false}');
const CLOSING_BRACE_BYTES = 1;

/**
 * The rendered alarms queued by version 1: a stream beside the history.
 *
 * Only this queue tells the names of room and device as of an alarm; the records of version 1 do not.
 * The queue goes once every consumer has read it.
 */
export class Version1Backlog {
  readonly #keys: Keys;
  /** The last sequence of the queue, 0 for none; undefined until it is looked up. */
  #last: number | undefined;

  constructor(keys: Keys) {
    this.#keys = keys;
  }

  /** Replaces entries by their rendering of version 1, where there is one. */
  async asRendered(redis: Redis, entries: readonly LogEntry[]): Promise<LogEntry[]> {
    const [first, newest] = [entries[0], entries.at(-1)];
    if (first === undefined || newest === undefined) return [];
    if (first.sequence > (await this.#lastOf(redis))) return [...entries];
    const rows = await readStream(
      redis,
      this.#keys.version1Backlog,
      String(first.sequence),
      String(newest.sequence),
      entries.length,
    );
    const bySequence = new Map(rows.map((row) => [row.sequence, row]));
    return entries.map((entry) => {
      const row = bySequence.get(entry.sequence);
      return row === undefined ? entry : { ...entry, ...renderedOf(row, entry) };
    });
  }

  async trim(redis: Redis, upToSequence: number): Promise<void> {
    const last = await this.#lastOf(redis);
    if (last === 0) return;
    if (upToSequence >= last) {
      await redis.del(this.#keys.version1Backlog);
      this.#last = 0;
    } else {
      await redis.xtrim(this.#keys.version1Backlog, 'MINID', `${upToSequence + 1}-0`);
    }
  }

  async #lastOf(redis: Redis): Promise<number> {
    if (this.#last !== undefined) return this.#last;
    const [newest] = await redis.xrevrange(this.#keys.version1Backlog, '+', '-', 'COUNT', 1);
    this.#last = newest === undefined ? 0 : Number.parseInt(newest[0], 10);
    return this.#last;
  }
}

function renderedOf(
  { fields }: StreamRow,
  entry: LogEntry,
): Pick<LogEntry, 'payload' | 'receivedAtMs'> {
  const fieldOf = (name: string) => {
    const at = fields.findIndex((field, index) => index % 2 === 0 && field.toString() === name);
    return at < 0 ? undefined : fields[at + 1];
  };
  const payload = fieldOf('p');
  if (payload === undefined) return entry;
  return {
    payload: Buffer.concat([payload.subarray(0, -CLOSING_BRACE_BYTES), NOT_LATE]),
    receivedAtMs: Number(fieldOf('r')) || entry.receivedAtMs,
  };
}
