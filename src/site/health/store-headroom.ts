/** What is no longer stored, ahead of alarms, when the store's memory or disk runs short. */
export type NotStoredKind = 'retained' | 'invalid-publish' | 'denial';

/** How much room is left: `short` is for alarms only, `full` for nothing. */
export type Headroom = 'ample' | 'short' | 'full';

/**
 * How much room the store has, and for what.
 *
 * Alarms are stored to the very end; everything else stops earlier (contract 4.7). The fastest flood could fill the
 * alarms' share between two readings of the memory, so what is taken counts until the next one.
 */
export class StoreHeadroom {
  readonly #levels: Record<'memory' | 'disk', Headroom> = { memory: 'ample', disk: 'ample' };
  /** The memory left for everything but alarms. */
  #leftBytes = Number.POSITIVE_INFINITY;
  readonly #notStored = new Map<NotStoredKind, number>();

  /** Whether there is no room for alarms either. */
  get isFull(): boolean {
    return Object.values(this.#levels).includes('full');
  }

  /** What was not stored since the start. */
  get notStored(): ReadonlyMap<NotStoredKind, number> {
    return this.#notStored;
  }

  /**
   * Notes the room that a reading of the memory or the disk has found.
   *
   * @param leftBytes the memory left for everything but alarms
   */
  set(source: 'memory' | 'disk', level: Headroom, leftBytes = this.#leftBytes): void {
    this.#levels[source] = level;
    this.#leftBytes = leftBytes;
  }

  /** Whether this may be stored. Counts its bytes if so; otherwise counts that it was not. */
  takes(kind: NotStoredKind, bytes = 0): boolean {
    const hasRoom = this.hasRoom(bytes);
    if (hasRoom) this.#leftBytes -= bytes;
    else this.#notStored.set(kind, (this.#notStored.get(kind) ?? 0) + 1);
    return hasRoom;
  }

  /** Whether there is room for this many bytes of anything but alarms. */
  hasRoom(bytes = 0): boolean {
    const isAmple = Object.values(this.#levels).every((level) => level === 'ample');
    return isAmple && bytes <= this.#leftBytes;
  }
}
