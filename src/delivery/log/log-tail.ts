import { bytesOfMessage, type LogEntry, type Tail } from './log-entry.js';

/** Beyond these bounds the tail is cut in half. */
const MAX_ENTRIES = 20_000;
const MAX_BYTES = 24 * 1024 * 1024;
/** What an entry takes besides its payload and the device's text, which is no longer than the payload. */
const ENTRY_BYTES = 1_024;

/** Keeps the newest alarms in memory. A store that loses its newest gets them again from here. */
export class LogTail implements Tail {
  #entries: LogEntry[] = [];
  #bytes = 0;
  #last: number;

  /** @param last the sequence number of the newest entry in the store */
  constructor(last: number) {
    this.#last = last;
  }

  /** The sequence number of the newest entry. */
  get last(): number {
    return this.#last;
  }

  get first(): number {
    return this.#entries[0]?.sequence ?? this.#last + 1;
  }

  /** Adds the next entry. Starts over after a gap: the store no longer has the entries in between. */
  append(entry: LogEntry): void {
    if (entry.sequence !== this.#last + 1) this.restart(entry.sequence - 1);
    ownPayload(entry);
    this.#entries.push(entry);
    this.#bytes += memoryOf(entry);
    this.#last = entry.sequence;
    if (this.#entries.length > MAX_ENTRIES || this.#bytes > MAX_BYTES) this.#forgetOlderHalf();
  }

  /** Forgets the entries after this one, the newest left in the store. */
  cutAfter(last: number): void {
    this.#entries = this.#entries.filter(({ sequence }) => sequence <= last);
    this.#bytes = this.#entries.reduce((bytes, entry) => bytes + memoryOf(entry), 0);
    this.#last = last;
  }

  /** Forgets all entries; the store's newest entry is this one. */
  restart(last: number): void {
    this.#entries = [];
    this.#bytes = 0;
    this.#last = last;
  }

  /** The entry that follows this sequence number; undefined when it is not (or no longer) here. */
  entryAfter(sequence: number): LogEntry | undefined {
    const first = this.#entries[0];
    return first === undefined ? undefined : this.#entries[sequence + 1 - first.sequence];
  }

  /** The entries here after this sequence number. */
  entriesAfter(sequence: number): LogEntry[] {
    return this.#entries.filter((entry) => entry.sequence > sequence);
  }

  #forgetOlderHalf(): void {
    this.#entries = this.#entries.slice(Math.ceil(this.#entries.length / 2));
    this.#bytes = this.#entries.reduce((bytes, entry) => bytes + memoryOf(entry), 0);
  }
}

/** Roughly how much memory an entry takes. */
function memoryOf(entry: LogEntry): number {
  return ENTRY_BYTES + 2 * bytesOfMessage(entry);
}

/** Gives an entry its own memory: a small payload would keep alive the whole buffer that it is part of. */
function ownPayload(entry: LogEntry): void {
  const { payload, source } = entry;
  entry.payload = owned(payload);
  if (source === undefined) return;
  source.payload = source.payload === payload ? entry.payload : owned(source.payload);
}

function owned(bytes: Buffer): Buffer {
  if (bytes.buffer.byteLength === bytes.length) return bytes;
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}
