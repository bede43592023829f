import type { LogEntry } from '../log/log-entry.js';
import { ReadyEntries } from './queue-reader.js';

export interface MemoryReaderOptions {
  readonly maxEntries: () => number;
  readonly maxBytes: number;
  /** Called for each entry dropped because too many wait. */
  readonly onDropped: () => void;
}

/** A queue in memory only. It drops the oldest entries when too much waits. */
export class MemoryReader {
  readonly #options: MemoryReaderOptions;
  readonly #ready = new ReadyEntries();

  constructor(options: MemoryReaderOptions) {
    this.#options = options;
  }

  get readyCount(): number {
    return this.#ready.count;
  }

  get readyBytes(): number {
    return this.#ready.bytes;
  }

  get next(): LogEntry | undefined {
    return this.#ready.first;
  }

  shift(): void {
    this.#ready.shift();
  }

  offer(entry: LogEntry): void {
    this.#ready.push(entry);
    this.cut(this.#options.maxEntries(), this.#options.maxBytes);
  }

  /** Drops the oldest beyond these bounds. */
  cut(maxEntries: number, maxBytes: number): void {
    while (this.#ready.count > maxEntries || this.#ready.bytes > maxBytes) {
      this.#ready.shift();
      this.#options.onDropped();
    }
  }
}
