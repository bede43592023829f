import type { InvalidPublishReason } from '../../domain/alarms.js';

type Done = (isStored: boolean, refused?: InvalidPublishReason) => void;

/**
 * The packet identifiers of a session's QoS 2 publishes that its client has not released.
 *
 * A repetition must not count as another publish [MQTT-4.3.3-2], even while the first is still on its
 * way to the store.
 */
export class ReceivedIdentifiers {
  /** Undefined before the first one: most clients never publish at QoS 2. */
  #stored: Set<number> | undefined;
  /**
   * Identifiers that the store held at the start. The client may have released them: a store that loses its
   * newest writes still has what they removed.
   */
  #ofEarlierRun: Set<number> | undefined;
  /** Identifiers being stored, with the callbacks that wait for this. */
  #pending: Map<number, Done[]> | undefined;

  /** @param ofEarlierRun the identifiers that the store holds at the start */
  constructor(ofEarlierRun: readonly number[]) {
    if (ofEarlierRun.length > 0) this.#ofEarlierRun = new Set(ofEarlierRun);
  }

  /**
   * Registers a publish with this identifier.
   *
   * @param mayRepeatEarlierRun whether an identifier from before the start proves that the publish is known
   * @param done called when the first publish with this identifier is stored, or cannot be
   * @returns whether the publish is the first with this identifier
   */
  add(packetIdentifier: number, mayRepeatEarlierRun: boolean, done: Done): boolean {
    if (this.#ofEarlierRun?.delete(packetIdentifier) === true && mayRepeatEarlierRun) {
      this.#noteStored(packetIdentifier);
    }
    if (this.#stored?.has(packetIdentifier) === true) {
      done(true);
      return false;
    }
    this.#pending ??= new Map();
    const waiting = this.#pending.get(packetIdentifier);
    if (waiting !== undefined) {
      waiting.push(done);
      return false;
    }
    this.#pending.set(packetIdentifier, [done]);
    return true;
  }

  /**
   * Resolves a pending identifier: its first publish is stored, or cannot be.
   *
   * @param refused why the publish cannot be used
   */
  resolve(packetIdentifier: number, isStored: boolean, refused?: InvalidPublishReason): void {
    const waiting = this.#pending?.get(packetIdentifier) ?? [];
    this.#pending?.delete(packetIdentifier);
    if (isStored) this.#noteStored(packetIdentifier);
    for (const done of waiting) done(isStored, refused);
  }

  /** Calls back once no publish with this identifier is on its way to the store. */
  whenResolved(packetIdentifier: number, callback: () => void): void {
    const waiting = this.#pending?.get(packetIdentifier);
    if (waiting === undefined) callback();
    else waiting.push(callback);
  }

  /** Forgets an identifier that the client released. */
  release(packetIdentifier: number): void {
    this.#stored?.delete(packetIdentifier);
    this.#ofEarlierRun?.delete(packetIdentifier);
  }

  #noteStored(packetIdentifier: number): void {
    this.#stored = (this.#stored ?? new Set()).add(packetIdentifier);
  }
}
