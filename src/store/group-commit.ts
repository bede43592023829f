import { GatewayError } from '../errors.js';

interface Pending<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** More would hold the store up for too long at a time. */
const MAX_ITEMS = 100;

/**
 * Writes what comes while a write is on its way as one write, the next one: the store forces each of
 * its writes to the disk, which takes as long for a hundred alarms as for one. A single item is
 * written at once. Results come in the order of submission.
 */
export class GroupCommit<Item, Result> {
  readonly #write: (items: readonly Item[]) => Promise<readonly Result[]>;
  readonly #waiting: Pending<Item, Result>[] = [];
  #isWriting = false;

  /**
   * @param write resolves to one result for each item; a `GatewayError` means that nothing can be
   *   written for now
   */
  constructor(write: (items: readonly Item[]) => Promise<readonly Result[]>) {
    this.#write = write;
  }

  submit(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (!this.#isWriting) this.#writeNext();
    });
  }

  #writeNext(): void {
    const group = this.#waiting.splice(0, MAX_ITEMS);
    this.#isWriting = group.length > 0;
    if (!this.#isWriting) return;
    this.#commit(group).finally(() => this.#writeNext());
  }

  async #commit(group: readonly Pending<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#write(group.map(({ item }) => item));
      for (const [index, { resolve }] of group.entries()) {
        const result = results[index];
        if (result !== undefined) resolve(result);
      }
    } catch (error) {
      // Refused for now: so is what waits behind, or it would overtake when it is tried again.
      if (error instanceof GatewayError) reject([...group, ...this.#waiting.splice(0)], error);
      else if (group.length === 1) reject(group, error);
      // One that cannot be written at all must not take the others with it.
      else for (const pending of group) await this.#commit([pending]);
    }
  }
}

function reject<Item, Result>(group: readonly Pending<Item, Result>[], error: unknown): void {
  for (const pending of group) pending.reject(error);
}
