/** What is stored no more, ahead of alarms, when the store's memory or its disk runs short. */
export type NotStoredKind = 'telemetry' | 'retained' | 'invalid-publish' | 'denial';

/** How much room is left: `short` is for alarms only, `full` for nothing. */
export type Headroom = 'ample' | 'short' | 'full';

/**
 * How much room the store has, and for what.
 *
 * Alarms are taken to the last: everything else stops being stored before (CONTRACT 4.7, FINDINGS S1).
 */
export class StoreHeadroom {
  /** A field, because every batch of alarms looks at it. */
  isFull = false;
  #isAmple = true;
  readonly #bySource = new Map<string, Headroom>();
  readonly #notStored = new Map<NotStoredKind, number>();

  /** Whether there is room for what is no alarm. */
  get isAmple(): boolean {
    return this.#isAmple;
  }

  /** Whether there is room for retained messages, which have a bound of their own as well. */
  get isAmpleForRetained(): boolean {
    return this.#isAmple && this.#bySource.get('retained') !== 'short';
  }

  /** What was not stored since the start. */
  get notStored(): ReadonlyMap<NotStoredKind, number> {
    return this.#notStored;
  }

  /** Notes the room that the memory, the disk, or the bound of retained messages leaves. */
  set(source: 'memory' | 'disk' | 'retained', headroom: Headroom): void {
    this.#bySource.set(source, headroom);
    const all = [this.#bySource.get('memory'), this.#bySource.get('disk')];
    this.isFull = all.includes('full');
    this.#isAmple = !this.isFull && !all.includes('short');
  }

  /**
   * Whether this may be stored; what may not is counted.
   *
   * A full store takes nothing at all, and telemetry waits for it as alarms do, unacknowledged.
   */
  takes(kind: NotStoredKind): boolean {
    if (this.#isAmple || (kind === 'telemetry' && this.isFull)) return true;
    this.notTaken(kind);
    return false;
  }

  /** Counts what was not stored. */
  notTaken(kind: NotStoredKind): void {
    this.#notStored.set(kind, (this.#notStored.get(kind) ?? 0) + 1);
  }
}
