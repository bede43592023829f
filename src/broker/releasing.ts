import type { Logger } from 'pino';
import type { Sessions } from '../delivery/sessions/sessions.js';
import { memoryOf } from './budgets/unstored-publishes.js';
import type { Connection } from './connection.js';

/**
 * Takes PUBREL: forgets the packet identifier, then sends PUBCOMP [MQTT-4.3.3-2].
 *
 * Releases that a client sends while one is being stored are stored together.
 */
export class Releasing {
  readonly #sessions: Sessions;
  readonly #log: Logger;
  readonly #waiting = new WeakMap<Connection, number[]>();

  constructor(sessions: Sessions, log: Logger) {
    this.#sessions = sessions;
    this.#log = log;
  }

  take(connection: Connection, packetIdentifier: number): void {
    connection.share.take(memoryOf(0));
    // A client that does not wait for PUBREC: the identifier can be forgotten only after it is stored.
    const { received } = connection.session;
    received.whenResolved(packetIdentifier, () => this.#queue(connection, packetIdentifier));
  }

  #queue(connection: Connection, packetIdentifier: number): void {
    const waiting = this.#waiting.get(connection);
    if (waiting !== undefined) {
      waiting.push(packetIdentifier);
      return;
    }
    this.#waiting.set(connection, []);
    void this.#release(connection, [packetIdentifier]);
  }

  async #release(connection: Connection, first: number[]): Promise<void> {
    for (let identifiers = first; identifiers.length > 0; ) {
      try {
        await this.#sessions.release(connection.session, identifiers);
        for (const identifier of identifiers) {
          connection.writer.acknowledge('pubcomp', identifier);
        }
      } catch (error) {
        const { owner: principal, session } = connection;
        const fields = { clientId: session.clientId, err: error };
        this.#log.warn({ principal, ...fields }, 'failed to release QoS 2 packet identifiers');
        connection.end('not-stored');
      }
      connection.share.release(identifiers.length * memoryOf(0));
      identifiers = this.#waiting.get(connection)?.splice(0) ?? [];
    }
    this.#waiting.delete(connection);
  }
}
