import type { Logger } from 'pino';
import { principalKey } from '../domain/grants.js';
import type { Message } from '../mqtt/packets.js';
import type { Connection } from './connection.js';
import type { Publishing } from './publishing.js';

export interface WillsOptions {
  readonly publishing: Publishing;
  readonly log: Logger;
}

/** The longest delay of a timer. */
const MAX_DELAY_SECONDS = 2_147_483;

/** A will that is not due yet. */
interface Delayed {
  readonly timer: NodeJS.Timeout;
  readonly connection: Connection;
  readonly publish: () => void;
}

/**
 * Publishes the wills of clients that left without a DISCONNECT of reason code 0, some after a delay (MQTT 5, 3.1.3.2.2).
 *
 * Wills still delayed when the gateway stops are not published.
 */
export class Wills {
  readonly #options: WillsOptions;
  /** By session. */
  readonly #delayed = new Map<string, Delayed>();

  constructor(options: WillsOptions) {
    this.#options = options;
  }

  /** Takes the will of a connection that has ended. */
  take(connection: Connection, will: Message): void {
    if (connection.isCredentialEnded) return;
    const { session } = connection;
    const publish = () => this.#publish(connection, will);
    // The will is published when the session ends, if that comes first [MQTT-3.1.3-9].
    const sessionSeconds = session.isPersistent
      ? (session.expirySeconds ?? Number.POSITIVE_INFINITY)
      : 0;
    const asked = will.properties?.willDelaySeconds ?? 0;
    const delaySeconds = Math.min(asked, sessionSeconds, MAX_DELAY_SECONDS);
    if (delaySeconds === 0) {
      publish();
      return;
    }
    const timer = setTimeout(() => {
      this.#delayed.delete(session.key);
      publish();
    }, delaySeconds * 1_000);
    this.#delayed.set(session.key, { timer, connection, publish });
  }

  /** Drops the delayed will of a session that continues; publishes that of a replaced session. */
  opened({ session }: Connection): void {
    const delayed = this.#delayed.get(session.key);
    if (delayed === undefined) return;
    this.#forget(delayed);
    if (session !== delayed.connection.session) delayed.publish();
  }

  /** @param owner `principalKey` of a principal whose credential has ended */
  drop(owner: string): void {
    for (const delayed of this.#delayed.values()) {
      if (delayed.connection.owner === owner) this.#forget(delayed);
    }
  }

  stop(): void {
    for (const { timer } of this.#delayed.values()) clearTimeout(timer);
    this.#delayed.clear();
  }

  #forget({ timer, connection }: Delayed): void {
    clearTimeout(timer);
    this.#delayed.delete(connection.session.key);
  }

  #publish({ principal }: Connection, will: Message): void {
    const packet = { ...will, cmd: 'publish', dup: false, messageId: 0, bytes: 0 } as const;
    this.#options.publishing.takeWill(principal, packet, (isStored) => {
      if (isStored) return;
      this.#options.log.warn({ principal: principalKey(principal) }, 'failed to store a will');
    });
  }
}
