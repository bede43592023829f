import type { Logger } from 'pino';
import { type Principal, principalKey } from '../domain/grants.js';
import type { Message } from '../mqtt/packets.js';
import type { Connection } from './connection.js';
import type { Publishing } from './publishing.js';

export interface WillsOptions {
  readonly publishing: Publishing;
  readonly log: Logger;
}

/** Publishes the wills of clients that went without DISCONNECT. */
export class Wills {
  readonly #options: WillsOptions;

  constructor(options: WillsOptions) {
    this.#options = options;
  }

  /** Takes the will of a connection that has ended. */
  take({ isCredentialEnded, principal }: Connection, will: Message): void {
    if (!isCredentialEnded) this.#publish(principal, will);
  }

  #publish(principal: Principal, will: Message): void {
    const packet = { ...will, cmd: 'publish', dup: false, messageId: 0 } as const;
    this.#options.publishing.takeWill(principal, packet, (isStored) => {
      if (isStored) return;
      this.#options.log.warn({ principal: principalKey(principal) }, 'failed to store a will');
    });
  }
}
