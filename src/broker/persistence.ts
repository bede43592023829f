const ENDLESS: AsyncIterable<never> = {
  [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => undefined) }),
};

/**
 * A persistence for Aedes that holds nothing.
 *
 * We keep sessions, queues, retained messages and packet identifiers; the connection keeps its will. So a
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
   * After CONNACK Aedes pipes this queue through two more streams. Ending all three costs more than an
   * authentication. Streams that never end are simply garbage-collected.
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
