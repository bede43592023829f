import { bytesOfMessage, type LogEntry, type Tail } from './log-entry.js';

/** Bounds of the tail, which is then cut in half. */
const MAX_ENTRIES = 20_000;
const MAX_BYTES = 24 * 1024 * 1024;
/** What an entry takes besides its payload, and besides the text of the device, which is as long at most. */
const ENTRY_BYTES = 1_024;

/** Keeps the newest alarms in memory: a store that loses its newest gets them again. */
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

  /** Adds the next entry. Begins anew after a gap: the store no longer has the entries between. */
  append(entry: LogEntry): void {
    if (entry.sequence !== this.#last + 1) this.restart(entry.sequence - 1);
    ownPayload(entry);
    this.#entries.push(entry);
    this.#bytes += memoryOf(entry);
    this.#last = entry.sequence;
    if (this.#entries.length > MAX_ENTRIES || this.#bytes > MAX_BYTES) this.#forgetOlderHalf();
  }

  /** Forgets the entries after this one, which is the newest that is left in the store. */
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

  /** The entry that follows this sequence number, undefined when it is not (or no longer) here. */
  entryAfter(sequence: number): LogEntry | undefined {
    const first = this.#entries[0];
    return first === undefined ? undefined : this.#entries[sequence + 1 - first.sequence];
  }

  /** The entries after this sequence number that are here. */
  entriesAfter(sequence: number): LogEntry[] {
    return this.#entries.filter((entry) => entry.sequence > sequence);
  }

  #forgetOlderHalf(): void {
    this.#entries = this.#entries.slice(Math.ceil(this.#entries.length / 2));
    this.#bytes = this.#entries.reduce((bytes, entry) => bytes + memoryOf(entry), 0);
  }
}

/** About how much memory an entry takes. */
function memoryOf(entry: LogEntry): number {
  return ENTRY_BYTES + 2 * bytesOfMessage(entry);
}

/** Gives an entry memory of its own: a small payload would keep all that it was read or composed with. */
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
