/** Packet identifiers of entries in flight when the connection broke. No other message gets them. */
export class InterruptedIdentifiers {
  readonly #byName = new Map<string, number>();
  readonly #identifiers = new Set<number>();

  get size(): number {
    return this.#identifiers.size;
  }

  add(name: string, identifier: number): void {
    this.#byName.set(name, identifier);
    this.#identifiers.add(identifier);
  }

  has(identifier: number): boolean {
    return this.#identifiers.has(identifier);
  }

  /** Removes and returns the identifier of an entry being sent again. */
  take(name: string): number | undefined {
    const identifier = this.#byName.get(name);
    if (identifier === undefined) return undefined;
    this.#byName.delete(name);
    this.#identifiers.delete(identifier);
    return identifier;
  }
}
