import type {
  Appended,
  LogEntry,
  LogName,
  NewMessage,
  TrimmableLogs,
} from '../../src/delivery/log/log-entry.js';

/** Logs that a test writes into. */
export interface TestLogs extends TrimmableLogs {
  append(log: LogName, items: readonly NewMessage[]): Promise<Appended[]>;
  /** Resolves when every request made before is answered and handled. */
  idle(): Promise<void>;
}

/** Keeps the logs in arrays: the promises of the port and nothing else. */
export class ArrayLogs implements TestLogs {
  readonly #entries: Record<LogName, LogEntry[]> = { alarms: [], messages: [] };
  readonly #last: Record<LogName, number> = { alarms: 0, messages: 0 };
  /** How often a page was read. */
  reads = 0;

  /** Loses the entries after this one, as when a lagging replica is promoted. */
  lose(log: LogName, last: number): void {
    this.#entries[log] = this.#entries[log].filter(({ sequence }) => sequence <= last);
    this.#last[log] = Math.min(this.#last[log], last);
  }

  append(log: LogName, items: readonly NewMessage[]): Promise<Appended[]> {
    const appended = items.map(({ topic, payload, receivedAtMs, locationId, groupId }) => {
      const sequence = ++this.#last[log];
      const entry = { log, sequence, topic, payload, receivedAtMs, locationId, groupId };
      this.#entries[log].push(entry);
      return { sequence, isNew: true };
    });
    return Promise.resolve(appended);
  }

  idle(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }

  read(log: LogName, afterSequence: number, count: number): Promise<LogEntry[]> {
    this.reads++;
    const entries = this.#entries[log];
    const from = indexAfter(entries, afterSequence);
    return Promise.resolve(entries.slice(from, from + count));
  }

  pick(log: LogName, sequences: readonly number[]): Promise<LogEntry[]> {
    const wanted = new Set(sequences);
    return Promise.resolve(this.#entries[log].filter(({ sequence }) => wanted.has(sequence)));
  }

  lastSequence(log: LogName): Promise<number> {
    return Promise.resolve(this.#last[log]);
  }

  trimMessages(upToSequence: number): Promise<void> {
    const { messages } = this.#entries;
    messages.splice(0, indexAfter(messages, upToSequence));
    return Promise.resolve();
  }

  messageCount(): Promise<number> {
    return Promise.resolve(this.#entries.messages.length);
  }

  messageBytes(): Promise<number> {
    const bytes = this.#entries.messages.reduce((sum, { payload }) => sum + payload.length, 0);
    return Promise.resolve(bytes);
  }

  removeMessages(sequences: readonly number[]): Promise<void> {
    const removed = new Set(sequences);
    const kept = this.#entries.messages.filter(({ sequence }) => !removed.has(sequence));
    this.#entries.messages = kept;
    return Promise.resolve();
  }
}

/** The index of the first entry after a sequence number. */
function indexAfter(entries: readonly LogEntry[], sequence: number): number {
  let [from, to] = [0, entries.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((entries[middle]?.sequence ?? 0) <= sequence) from = middle + 1;
    else to = middle;
  }
  return from;
}
