import type { IPublishPacket } from 'mqtt-packet';
import type { Logger } from 'pino';
import { ownerOfSession } from '../delivery/session.js';
import { type Principal, principalKey } from '../domain/grants.js';
import type { Presence } from '../ingest/presence.js';
import type { Principals } from '../site/principals.js';
import type { Connection } from './connection.js';
import type { Publishing } from './publishing.js';

export interface WillsOptions {
  readonly publishing: Publishing;
  readonly presence: Presence;
  readonly principals: Principals;
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

  /**
   * Takes a will that an earlier run of the gateway left behind.
   *
   * The topic says nothing about its owner, who may publish no more than while it was connected. The will of a
   * principal that is back is not published (DEPENDENCY-FAULTS 11).
   *
   * @param isSessionBack whether the session of the will is connected again
   */
  takeLeft(will: Readonly<WillPacket>, isSessionBack: boolean): void {
    const { principals, presence } = this.#options;
    const key: unknown = Reflect.get(will, 'clientId');
    const owner = typeof key === 'string' ? principals.validByKey(ownerOfSession(key)) : undefined;
    if (owner === undefined || isSessionBack) return;
    if (owner.type === 'device' && presence.of(owner.id).online) return;
    this.#publish(owner, will);
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
