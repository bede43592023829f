import type { Logger } from 'pino';
import type { LogEntry, LogName, LogReader } from '../delivery/log/log-entry.js';
import { StoreHeadroom } from '../site/health/store-headroom.js';
import { AlarmLog } from './alarms/alarm-log.js';
import type { Keys } from './keys.js';
import { MessageLog } from './message-log.js';
import type { Store } from './store.js';

/**
 * The two logs in Redis.
 *
 * All appends go over one connection, so answers come in the order of the logs. All reads go over
 * another, so that a page of a long backlog does not delay an alarm.
 */
export class LogStore implements LogReader {
  readonly alarms: AlarmLog;
  readonly messages: MessageLog;
  readonly #reader: Store;
  readonly #keys: Keys;

  constructor(
    writer: Store,
    reader: Store,
    keys: Keys,
    log?: Logger,
    headroom = new StoreHeadroom(),
  ) {
    const connections = { writer, reader, headroom };
    this.alarms = new AlarmLog(connections, keys, log);
    this.messages = new MessageLog(connections, keys);
    this.#reader = reader;
    this.#keys = keys;
  }

  read(log: LogName, afterSequence: number, count: number): Promise<LogEntry[]> {
    return this[log].read(String(afterSequence + 1), '+', count);
  }

  async pick(log: LogName, sequences: readonly number[]): Promise<LogEntry[]> {
    const pages = sequences.map((sequence) =>
      this[log].read(String(sequence), String(sequence), 1),
    );
    return (await Promise.all(pages)).flat();
  }

  /** The newest sequence: the counter's, or the log's own if the counter is lower. */
  async lastSequence(log: LogName): Promise<number> {
    const key = log === 'alarms' ? this.#keys.history : this.#keys.messageLog;
    const [counter, [newest]] = await Promise.all([
      this.#reader.read((redis) => redis.get(this.#keys.logSequence(log))),
      this.#reader.read((redis) => redis.xrevrange(key, '+', '-', 'COUNT', 1)),
    ]);
    const last = newest === undefined ? 0 : Number.parseInt(newest[0], 10);
    return Math.max(Number(counter) || 0, last);
  }

  async trimMessages(upToSequence: number): Promise<void> {
    await this.messages.trim(upToSequence);
  }

  messageCount(): Promise<number> {
    return this.messages.length();
  }

  messageBytes(): Promise<number> {
    return this.messages.bytes();
  }

  async removeMessages(sequences: readonly number[]): Promise<void> {
    await this.messages.remove(sequences);
  }
}
