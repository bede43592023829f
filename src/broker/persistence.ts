const ENDLESS: AsyncIterable<never> = {
  [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => undefined) }),
};

/**
 * The persistence of Aedes, which holds nothing.
 *
 * Sessions, queues, retained messages and packet identifiers are ours, and a will is with its connection. So a
 * device can connect, and its alarms reach the nurses, while the store is away (docs/reference/contract.md, 4.4).
 */
export class BrokerPersistence {
  async setup(): Promise<void> {
    return Promise.resolve();
  }

  async cleanSubscriptions(): Promise<void> {
    return Promise.resolve();
  }

  /**
   * Never yields, and never ends.
   *
   * After CONNACK Aedes pipes this queue through two more streams. The end of them all costs more than an
   * authentication; what waits for it is garbage.
   */
  outgoingStream(): AsyncIterable<never> {
    return ENDLESS;
  }

  async putWill(): Promise<void> {
    return Promise.resolve();
  }

  async delWill(): Promise<void> {
    return Promise.resolve();
  }

  /** Has no wills of other brokers. */
  streamWill(): readonly never[] {
    return [];
  }
}
