import type { LogEntry, LogName, LogReader } from '../../src/delivery/log/log-entry.js';

/** Keeps the logs in arrays: the promises of the port and nothing else. */
export class MemoryLogs implements LogReader {
  readonly #entries: Record<LogName, LogEntry[]> = { alarms: [], messages: [] };

  append(log: LogName, topic: string, receivedAtMs: number, payload?: string): LogEntry {
    const entries = this.#entries[log];
    const sequence = entries.length + 1;
    const entry: LogEntry = {
      ...{ log, sequence, topic, receivedAtMs, locationId: null, groupId: null },
      payload: Buffer.from(payload ?? `{"n":${sequence}}`),
    };
    entries.push(entry);
    return entry;
  }

  read(log: LogName, afterSequence: number, count: number): Promise<LogEntry[]> {
    return Promise.resolve(this.#entries[log].slice(afterSequence, afterSequence + count));
  }

  pick(log: LogName, sequences: readonly number[]): Promise<LogEntry[]> {
    return Promise.resolve(this.#entries[log].filter((one) => sequences.includes(one.sequence)));
  }

  lastSequence(log: LogName): Promise<number> {
    return Promise.resolve(this.#entries[log].length);
  }
}
