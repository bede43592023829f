/**
 * The wills of clients that left without a DISCONNECT of reason code 0, some of them due after a delay (MQTT 5, 3.1.3.2.2).
 *
 * Wills still delayed when the gateway stops are not published.
 */
import type { Logger } from 'pino';
import type { Session } from '../delivery/sessions/session.js';
import type { Message } from '../mqtt/packets.js';
import type { Login } from './client.js';
import type { Publishing } from './publishing.js';

/** The longest delay of a timer. */
const MAX_DELAY_SECONDS = 2_147_483;

/** A will that is not due yet. */
interface Delayed {
  readonly timer: NodeJS.Timeout;
  readonly session: Session;
  readonly publish: () => void;
}

export class Wills {
  readonly #publishing: Publishing;
  readonly #log: Logger;
  /** By the keys of their sessions. */
  readonly #delayed = new Map<string, Delayed>();

  constructor(publishing: Publishing, log: Logger) {
    this.#publishing = publishing;
    this.#log = log;
  }

  /** Takes the will of a client that has gone. */
  take(login: Login, will: Message): void {
    const { session } = login;
    const publish = () => this.#publish(login, will);
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
    this.#delayed.set(session.key, { timer, session, publish });
  }

  /** Drops the delayed will of a session that continues; publishes that of a replaced session. */
  opened(session: Session): void {
    const delayed = this.#delayed.get(session.key);
    if (delayed === undefined) return;
    this.#forget(delayed);
    if (session !== delayed.session) delayed.publish();
  }

  /** @param owner `principalKey` of a principal whose credential has ended */
  drop(owner: string): void {
    for (const delayed of this.#delayed.values()) {
      if (delayed.session.owner.key === owner) this.#forget(delayed);
    }
  }

  stop(): void {
    for (const { timer } of this.#delayed.values()) clearTimeout(timer);
    this.#delayed.clear();
  }

  #forget({ timer, session }: Delayed): void {
    clearTimeout(timer);
    this.#delayed.delete(session.key);
  }

  #publish({ principal, session }: Login, will: Message): void {
    const packet = { ...will, cmd: 'publish', dup: false, messageId: 0, bytes: 0 } as const;
    this.#publishing.takeWill(principal, packet, (isStored) => {
      if (isStored) return;
      this.#log.warn({ principal: session.owner.key }, 'failed to store a will');
    });
  }
}
