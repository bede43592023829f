import { bytesOfMessage, type LogEntry } from '../log/log-entry.js';

/** Entries in sending order, and their bytes: payload and properties. */
export class ReadyEntries {
  #entries: LogEntry[] = [];
  /** How many entries at the front are gone. */
  #passed = 0;
  #bytes = 0;

  get count(): number {
    return this.#entries.length - this.#passed;
  }

  get bytes(): number {
    return this.#bytes;
  }

  push(entry: LogEntry): void {
    this.#entries.push(entry);
    this.#bytes += bytesOfMessage(entry);
  }

  shift(): LogEntry | undefined {
    const entry = this.#entries[this.#passed];
    if (entry === undefined) return undefined;
    this.#passed++;
    this.#bytes -= bytesOfMessage(entry);
    // Half of the array at a time: moving the rest costs more than passing one.
    if (this.#passed * 2 >= this.#entries.length) {
      this.#entries = this.#entries.slice(this.#passed);
      this.#passed = 0;
    }
    return entry;
  }

  clear(): void {
    this.#entries = [];
    this.#passed = 0;
    this.#bytes = 0;
  }
}
