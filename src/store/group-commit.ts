import { oneAtATime } from '../releasers.js';

interface Waiting<Item, Reply> {
  readonly item: Item;
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: unknown) => void;
}

/** Handles items in groups, in the order of the calls. Items added during one group form the next. */
export class GroupCommit<Item, Reply> {
  readonly #make: (items: readonly Item[]) => Promise<readonly PromiseSettledResult<Reply>[]>;
  readonly #maxItems: number;
  readonly #waiting: Waiting<Item, Reply>[] = [];
  /** The items of one turn of the event loop form one group. */
  readonly #makeWaiting = oneAtATime(() => this.#makeAll());

  /** @param make resolves to the result of each item; if it rejects, all of them failed */
  constructor(
    make: (items: readonly Item[]) => Promise<readonly PromiseSettledResult<Reply>[]>,
    maxItems: number,
  ) {
    this.#make = make;
    this.#maxItems = maxItems;
  }

  add(item: Item): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      void this.#makeWaiting();
    });
  }

  async #makeAll(): Promise<void> {
    while (this.#waiting.length > 0) await this.#makeGroup(this.#waiting.splice(0, this.#maxItems));
  }

  async #makeGroup(group: readonly Waiting<Item, Reply>[]): Promise<void> {
    try {
      const results = await this.#make(group.map(({ item }) => item));
      for (const [index, { resolve, reject }] of group.entries()) {
        const result = results[index];
        if (result?.status === 'fulfilled') resolve(result.value);
        else reject(result?.reason);
      }
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }
}
