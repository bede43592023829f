import { GatewayError } from '../errors.js';
import { inTurn } from '../releasers.js';

/**
 * Makes calls to the store one after another, in the order in which they were requested.
 *
 * When the store does not answer a call, the calls that wait behind it fail too: each would wait just as long, in vain.
 */
export class StoreTurns {
  readonly #inTurn = inTurn();
  /** Counts how often the store gave no answer. */
  #outages = 0;

  /** @throws GatewayError `store-unavailable` when the store gave no answer meanwhile, or what `work` throws */
  take<Result>(work: () => Promise<Result>): Promise<Result> {
    const outages = this.#outages;
    return this.#inTurn(() => {
      if (outages === this.#outages) return work();
      throw new GatewayError('store-unavailable', 'The store does not answer.');
    });
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
