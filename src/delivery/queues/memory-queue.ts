import { hasExpired } from '../../mqtt/message-properties.js';
import type { LogEntry, LogName } from '../log/log-entry.js';
import { EMPTY } from './account.js';
import type { Queue } from './queue.js';
import type { Account, Outcome } from './queue-store.js';
import { ReadyEntries } from './ready-entries.js';

/** Bounds of one clean session, whose queues are in memory. */
const MAX_ALARMS = 20_000;
const MAX_ALARM_BYTES = 16 * 1024 * 1024;
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;

interface MemoryQueueOptions {
  readonly mayReceive: (entry: LogEntry) => boolean;
  /** The steady clock. */
  readonly now: () => number;
  /** How many entries may wait while so many are in flight. */
  readonly maxReady: (takenCount: number) => number;
  readonly maxBytes: number;
}

export interface MemoryQueuesOptions extends Pick<MemoryQueueOptions, 'mayReceive' | 'now'> {
  /** How many messages may wait or be in flight. */
  readonly maxMessages: () => number;
}

/** The queues of a clean session, which end with its connection. */
export function memoryQueues(options: MemoryQueuesOptions): Readonly<Record<LogName, MemoryQueue>> {
  const { maxMessages } = options;
  const maxReady = (takenCount: number) => Math.max(0, maxMessages() - takenCount);
  return {
    alarms: new MemoryQueue({ ...options, maxReady: () => MAX_ALARMS, maxBytes: MAX_ALARM_BYTES }),
    messages: new MemoryQueue({ ...options, maxReady, maxBytes: MAX_MESSAGE_BYTES }),
  };
}

/** A queue in memory only. It drops the oldest entries when too much waits. */
export class MemoryQueue implements Queue {
  readonly isLoading = false;
  readonly wantsPage = false;
  readonly #options: MemoryQueueOptions;
  readonly #ready = new ReadyEntries();
  readonly #counts = { ...EMPTY, reasons: { ...EMPTY.reasons } };
  #takenCount = 0;

  constructor(options: MemoryQueueOptions) {
    this.#options = options;
  }

  get readyCount(): number {
    return this.#ready.count;
  }

  get readyBytes(): number {
    return this.#ready.bytes;
  }

  /** How many entries wait, including those in flight. */
  get queuedCount(): number {
    return this.#ready.count + this.#takenCount;
  }

  get account(): Account {
    const { reasons, ...counts } = this.#counts;
    return { ...counts, queued: this.queuedCount, reasons: { ...reasons } };
  }

  offer(entry: LogEntry): void {
    this.#counts.accepted++;
    this.#ready.push(entry);
    const { maxReady, maxBytes } = this.#options;
    this.cut(maxReady(this.#takenCount), maxBytes);
  }

  take(oldestMs: number): LogEntry | 'caught-up' {
    const { mayReceive, now } = this.#options;
    for (let entry = this.#ready.shift(); entry !== undefined; entry = this.#ready.shift()) {
      const { receivedAtMs, properties } = entry;
      const isTooOld = receivedAtMs < oldestMs;
      if (isTooOld || (properties !== undefined && hasExpired(properties, now())))
        this.#count('expired');
      else if (!mayReceive(entry)) this.#count('forbidden');
      else {
        this.#takenCount++;
        return entry;
      }
    }
    return 'caught-up';
  }

  takeAhead(): boolean {
    return false;
  }

  load(): Promise<void> {
    return Promise.resolve();
  }

  settle(_entry: LogEntry, outcome: Outcome): void {
    this.#takenCount--;
    this.#count(outcome);
  }

  released(): void {
    this.#takenCount--;
    this.#counts.dropped++;
  }

  /** Drops the oldest beyond these bounds. */
  cut(maxCount: number, maxBytes: number): void {
    while (this.#ready.count > maxCount || this.#ready.bytes > maxBytes) {
      this.#ready.shift();
      this.#counts.dropped++;
    }
  }

  #count(outcome: Outcome): void {
    if (outcome === 'delivered' || outcome === 'expired') {
      this.#counts[outcome]++;
      return;
    }
    this.#counts.dropped++;
    this.#counts.reasons[outcome]++;
  }
}
