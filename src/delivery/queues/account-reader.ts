import { within } from '../../site/clock/pause.js';
import { type Deliveries, isDurable } from '../deliveries.js';
import type { QueueStore } from './queue-store.js';

const WITHIN_MS = 1_000;
/** Accounts read in one call. */
const AT_ONCE = 250;

/** Reads the accounts of durable consumers from the store. */
export class AccountReader {
  readonly #deliveries: Deliveries;
  readonly #queues: Pick<QueueStore, 'accounts'>;
  #refreshing: Promise<readonly string[]> | undefined;

  constructor(deliveries: Deliveries, queues: Pick<QueueStore, 'accounts'>) {
    this.#deliveries = deliveries;
    this.#queues = queues;
  }

  /**
   * Updates the accounts of all consumers, if the store answers soon.
   *
   * While the store is away, the accounts stay as last read.
   */
  async refresh(): Promise<void> {
    this.#refreshing ??= this.read()
      .catch(() => [])
      .finally(() => {
        this.#refreshing = undefined;
      });
    await within(this.#refreshing, WITHIN_MS);
  }

  /**
   * Reads the accounts of all durable consumers, after settling what is acknowledged.
   *
   * @returns the keys of consumers without an account in the store
   */
  async read(): Promise<readonly string[]> {
    const { services, consumers } = this.#deliveries;
    await services.settler.flush();
    const durable = [...consumers].filter(isDurable);
    const gone: string[] = [];
    for (let at = 0; at < durable.length; at += AT_ONCE) {
      const page = durable.slice(at, at + AT_ONCE);
      const accounts = await this.#queues.accounts(page.map(({ key }) => key));
      for (const [index, consumer] of page.entries()) {
        const found = accounts[index];
        if (found === undefined) gone.push(consumer.key);
        else consumer.noteAccounts(found);
      }
    }
    return gone;
  }
}
