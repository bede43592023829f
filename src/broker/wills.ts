import type { IPublishPacket } from 'mqtt-packet';
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

  /** Takes the will of a connection from Aedes. */
  take({ isCredentialEnded, principal }: Connection, will: Readonly<WillPacket>): void {
    if (!isCredentialEnded) this.#publish(principal, will);
  }

  #publish(principal: Principal, will: Readonly<WillPacket>): void {
    // A copy, because the broker clears retain flag and QoS of the packet of Aedes.
    const packet: IPublishPacket = { ...will, cmd: 'publish', dup: false };
    this.#options.publishing.takeWill(principal, packet, (isStored) => {
      if (isStored) return;
      this.#options.log.warn({ principal: principalKey(principal) }, 'failed to store a will');
    });
  }
}

type WillPacket = Pick<IPublishPacket, 'topic' | 'payload' | 'qos' | 'retain'>;
