import { GatewayError } from '../errors.js';

/**
 * Calls to the store that are made one after another, in the order in which they were asked for.
 *
 * When the store gives no answer to one, those that wait for it fail as well: each would wait as long, and in vain.
 */
export class StoreTurns {
  #last: Promise<unknown> = Promise.resolve();
  /** Counts how often the store gave no answer. */
  #outages = 0;

  /** @throws GatewayError `store-unavailable` when the store gave no answer meanwhile, or what `work` throws */
  take<Result>(work: () => Promise<Result>): Promise<Result> {
    const outages = this.#outages;
    const turn = this.#last.then(() => {
      if (outages === this.#outages) return work();
      throw new GatewayError('store-unavailable', 'The store does not answer.');
    });
    // The caller gets the error; the next turn comes all the same.
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  /** Waits for the store, within a turn. */
  async answered<Answer>(answer: Promise<Answer>): Promise<Answer> {
    try {
      return await answer;
    } catch (error) {
      this.#outages++;
      throw error;
    }
  }
}
