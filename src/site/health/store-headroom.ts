import { bytesOfProperties, type MessageProperties } from '../../mqtt/message-properties.js';
/** What is stored no more, ahead of alarms, when the store's memory or its disk runs short. */
export type NotStoredKind = 'telemetry' | 'retained' | 'invalid-publish' | 'denial';

/** How much room is left: `short` is for alarms only, `full` for nothing. */
export type Headroom = 'ample' | 'short' | 'full';

/** Bytes that the store keeps beside topic and payload, and the factor by which its blocks exceed their content. */
const BYTES_BESIDE = 256;
const BLOCK_FACTOR = 1.25;

/** Memory of a stored message, rather too much than too little. */
export function storedBytesOf(message: {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly properties?: MessageProperties | undefined;
}): number {
  const { topic, payload, properties } = message;
  const beside = properties === undefined ? 0 : bytesOfProperties(properties);
  return BYTES_BESIDE + BLOCK_FACTOR * (topic.length + payload.length + beside);
}

/**
 * How much room the store has, and for what.
 *
 * Alarms are taken to the last: everything else stops being stored before (docs/reference/contract.md, 4.7). The
 * fastest flood fills the alarms' part between two readings of the memory. So bytes are reserved before they
 * are stored, and count until a reading includes them.
 */
export class StoreHeadroom {
  /** A field, because every batch of alarms looks at it. */
  isFull = false;
  #isAmple = true;
  readonly #bySource = new Map<string, Headroom>();
  readonly #notStored = new Map<NotStoredKind, number>();
  /** The memory left for everything but alarms at the last reading. */
  #leftBytes = Number.POSITIVE_INFINITY;
  /** Of all reserved bytes: those that are stored, and those that the last reading includes. */
  #reservedBytes = 0;
  #storedBytes = 0;
  #readBytes = 0;

  /** Whether there is room for what is no alarm. */
  get isAmple(): boolean {
    return this.#isAmple;
  }

  /** What was not stored since the start. */
  get notStored(): ReadonlyMap<NotStoredKind, number> {
    return this.#notStored;
  }

  /** Notes the room that the memory or the disk leaves. */
  set(source: 'memory' | 'disk', headroom: Headroom): void {
    this.#bySource.set(source, headroom);
    const all = [this.#bySource.get('memory'), this.#bySource.get('disk')];
    this.isFull = all.includes('full');
    this.#isAmple = !this.isFull && !all.includes('short');
  }

  /** Begins a reading of the memory. The returned function takes what it leaves for all but alarms. */
  beginReading(): (leftBytes: number) => void {
    const storedBytes = this.#storedBytes;
    return (leftBytes) => {
      this.#leftBytes = leftBytes;
      this.#readBytes = storedBytes;
    };
  }

  /** Whether this may be stored, for which its bytes are then reserved; what may not is counted. */
  takes(kind: NotStoredKind, bytes = 0): boolean {
    if (this.hasRoom(bytes)) {
      this.reserve(bytes);
      return true;
    }
    this.notTaken(kind);
    return false;
  }

  reserve(bytes: number): void {
    this.#reservedBytes += bytes;
  }

  /** Notes that reserved bytes are in the store, or given up. */
  stored(bytes: number): void {
    this.#storedBytes += bytes;
  }

  /** Whether there is room for so many bytes of what is no alarm. */
  hasRoom(bytes: number): boolean {
    return this.#isAmple && bytes + this.#reservedBytes - this.#readBytes <= this.#leftBytes;
  }

  /** Counts what was not stored. */
  notTaken(kind: NotStoredKind): void {
    this.#notStored.set(kind, (this.#notStored.get(kind) ?? 0) + 1);
  }
}
