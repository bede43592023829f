import type { IConnectPacket, IPublishPacket } from 'mqtt-packet';
import type { Logger } from 'pino';
import { type Principal, principalKey } from '../domain/grants.js';
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
  take({ isCredentialEnded, principal }: Connection, will: Will): void {
    if (!isCredentialEnded) this.#publish(principal, will);
  }

  #publish(principal: Principal, { topic, payload, qos = 0, retain = false }: Will): void {
    const packet: IPublishPacket = { cmd: 'publish', topic, payload, qos, retain, dup: false };
    this.#options.publishing.takeWill(principal, packet, (isStored) => {
      if (isStored) return;
      this.#options.log.warn({ principal: principalKey(principal) }, 'failed to store a will');
    });
  }
}

type Will = NonNullable<IConnectPacket['will']>;
