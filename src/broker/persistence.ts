import type { Sessions } from '../delivery/sessions/sessions.js';

/**
 * Stands for a session: Aedes says "session present" only with subscriptions [MQTT-3.2.2-2].
 *
 * Aedes has none of its own: `authorizeSubscribe` grants none.
 */
const SESSION = { topic: '$session', qos: 0 } as const;

const ENDLESS: AsyncIterable<never> = {
  [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => undefined) }),
};

/**
 * The persistence of Aedes, which holds nothing.
 *
 * Sessions, queues, retained messages and packet identifiers are ours, and a will is with its connection. So a
 * device can connect, and its alarms reach the nurses, while the store is away (docs/contract.md, 4.4).
 */
export class BrokerPersistence {
  readonly #sessions: Pick<Sessions, 'get'>;

  constructor(sessions: Pick<Sessions, 'get'>) {
    this.#sessions = sessions;
  }

  async setup(): Promise<void> {
    return Promise.resolve();
  }

  /**
   * Clients (Paho) discard unacknowledged messages unless CONNACK says that the session is present.
   */
  async subscriptionsByClient({ id }: { readonly id: string }): Promise<readonly object[]> {
    return Promise.resolve(this.#sessions.get(id)?.isResumed === true ? [SESSION] : []);
  }

  /** Does nothing: `Sessions.open` has discarded the session before. */
  async cleanSubscriptions(): Promise<void> {
    return Promise.resolve();
  }

  /**
   * Never yields, and never ends.
   *
   * After CONNACK Aedes pipes this queue through two more streams. The end of them all, which it only
   * reports as `connected`, costs more than an authentication; what waits for it is garbage.
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
