/** Payload bytes that may be on their way to the store at a time, of all clients together. */
const MAX_UNSTORED_BYTES = 64 * 1024 * 1024;

/** Bounds the memory that publishes take while the store is away or slow. */
export class Intake {
  #unstoredBytes = 0;
  #waiting: (() => void)[] = [];

  get hasRoom(): boolean {
    return this.#unstoredBytes < MAX_UNSTORED_BYTES;
  }

  get unstoredBytes(): number {
    return this.#unstoredBytes;
  }

  taken(bytes: number): void {
    this.#unstoredBytes += bytes;
  }

  stored(bytes: number): void {
    this.#unstoredBytes -= bytes;
    if (!this.hasRoom) return;
    for (const proceed of this.#waiting.splice(0)) proceed();
  }

  /** Calls back when there is room. */
  whenThereIsRoom(proceed: () => void): void {
    if (this.hasRoom) proceed();
    else this.#waiting.push(proceed);
  }
}
