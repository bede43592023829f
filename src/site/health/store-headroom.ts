import { bytesOfProperties, type MessageProperties } from '../../mqtt/message-properties.js';
/** What is no longer stored, ahead of alarms, when the store's memory or disk runs short. */
export type NotStoredKind = 'retained' | 'invalid-publish' | 'denial';

/** How much room is left: `short` is for alarms only, `full` for nothing. */
export type Headroom = 'ample' | 'short' | 'full';

/** Bytes that the store keeps besides topic and payload, and the factor by which its blocks exceed their content. */
const BYTES_BESIDE = 256;
const BLOCK_FACTOR = 1.25;

/** The memory of a stored message; rather too high than too low. */
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
 * Alarms are stored to the very end; everything else stops earlier (docs/reference/contract.md, 4.7).
 * The fastest flood could fill the alarms' share between two readings of the memory. So bytes are reserved before
 * they are stored, and count until a reading includes them.
 */
export class StoreHeadroom {
  /** A field, because every batch of alarms reads it. */
  isFull = false;
  #isAmple = true;
  readonly #bySource = new Map<string, Headroom>();
  readonly #notStored = new Map<NotStoredKind, number>();
  /** The memory left for everything but alarms at the last reading. */
  #leftBytes = Number.POSITIVE_INFINITY;
  /** All reserved bytes; of these, the bytes that are stored, and the bytes that the last reading includes. */
  #reservedBytes = 0;
  #storedBytes = 0;
  #readBytes = 0;

  /** Whether there is room for anything but alarms. */
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

  /** Begins a reading of the memory. The returned function takes the bytes left for everything but alarms. */
  beginReading(): (leftBytes: number) => void {
    const storedBytes = this.#storedBytes;
    return (leftBytes) => {
      this.#leftBytes = leftBytes;
      this.#readBytes = storedBytes;
    };
  }

  /** Whether this may be stored. Reserves its bytes if so; otherwise counts it. */
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

  /** Whether there is room for this many bytes of anything but alarms. */
  hasRoom(bytes: number): boolean {
    return this.#isAmple && bytes + this.#reservedBytes - this.#readBytes <= this.#leftBytes;
  }

  /** Counts what was not stored. */
  notTaken(kind: NotStoredKind): void {
    this.#notStored.set(kind, (this.#notStored.get(kind) ?? 0) + 1);
  }
}
