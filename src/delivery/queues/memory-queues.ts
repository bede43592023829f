import { hasExpired } from '../../mqtt/message-properties.js';
import type { LogEntry, LogName } from '../log/log-entry.js';
import { MemoryAccount, type Queued } from './account.js';
import { MemoryReader } from './memory-reader.js';
import type { Accounts, Outcome } from './queue-store.js';
import type { Queues } from './queues.js';

/** Bounds of one clean session, whose queues are in memory. */
const MAX_ALARMS = 20_000;
const MAX_ALARM_BYTES = 16 * 1024 * 1024;
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;

export interface MemoryQueuesOptions {
  readonly maxMessages: () => number;
  readonly mayReceive: (entry: LogEntry) => boolean;
  /** The steady clock. */
  readonly now: () => number;
}

/** The queues of a clean session, which end with its connection. */
export class MemoryQueues implements Queues {
  readonly #options: MemoryQueuesOptions;
  readonly #accounts: Readonly<Record<LogName, MemoryAccount>> = {
    alarms: new MemoryAccount(),
    messages: new MemoryAccount(),
  };
  readonly #readers: Readonly<Record<LogName, MemoryReader>>;
  readonly #taken: Record<LogName, number> = { alarms: 0, messages: 0 };

  constructor(options: MemoryQueuesOptions) {
    this.#options = options;
    const { alarms, messages } = this.#accounts;
    this.#readers = {
      alarms: new MemoryReader({
        maxEntries: () => MAX_ALARMS,
        maxBytes: MAX_ALARM_BYTES,
        onDropped: () => alarms.dropped(),
      }),
      messages: new MemoryReader({
        maxEntries: () => Math.max(0, options.maxMessages() - this.#taken.messages),
        maxBytes: MAX_MESSAGE_BYTES,
        onDropped: () => messages.dropped(),
      }),
    };
  }

  offer(entry: LogEntry): void {
    this.#accounts[entry.log].accepted();
    this.#readers[entry.log].offer(entry);
  }

  take(log: LogName, oldestMs: number): LogEntry | 'caught-up' {
    const reader = this.#readers[log];
    for (let entry = reader.next; entry !== undefined; entry = reader.next) {
      reader.shift();
      const isTooOld = entry.receivedAtMs < oldestMs;
      const isOver =
        entry.properties !== undefined && hasExpired(entry.properties, this.#options.now());
      if (isTooOld || isOver) this.#accounts[log].expired();
      else if (!this.#options.mayReceive(entry)) this.#accounts[log].dropped('forbidden');
      else {
        this.#taken[log]++;
        return entry;
      }
    }
    return 'caught-up';
  }

  takeAhead(): boolean {
    return false;
  }

  wantsPage(): boolean {
    return false;
  }

  isLoading(): boolean {
    return false;
  }

  load(): Promise<void> {
    return Promise.resolve();
  }

  readyCount(log: LogName): number {
    return this.#readers[log].readyCount;
  }

  settle({ log }: LogEntry, outcome: Outcome): void {
    this.#taken[log]--;
    if (outcome === 'delivered') this.#accounts[log].delivered();
    else if (outcome === 'expired') this.#accounts[log].expired();
    else this.#accounts[log].dropped(outcome);
  }

  released({ log }: LogEntry): void {
    this.#taken[log]--;
    this.#accounts[log].dropped();
  }

  /** The bytes of messages that wait to be sent. */
  get messageBytes(): number {
    return this.#readers.messages.readyBytes;
  }

  /** How many entries wait, including those in flight. */
  get queued(): Queued {
    const { alarms, messages } = this.#readers;
    return {
      alarms: alarms.readyCount + this.#taken.alarms,
      messages: messages.readyCount + this.#taken.messages,
    };
  }

  get accounts(): Accounts {
    const { alarms, messages } = this.#accounts;
    const { queued } = this;
    return {
      alarms: alarms.withQueued(queued.alarms),
      messages: messages.withQueued(queued.messages),
    };
  }

  /** Drops the oldest messages beyond this many bytes. */
  cutMessages(maxBytes: number): void {
    this.#readers.messages.cut(Number.POSITIVE_INFINITY, maxBytes);
  }
}
