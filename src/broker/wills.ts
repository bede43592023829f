import type { IPublishPacket } from 'mqtt-packet';
import type { Logger } from 'pino';
import { principalKey } from '../domain/grants.js';
import { parsePublishTopic } from '../domain/topics.js';
import type { Presence } from '../ingest/presence.js';
import type { Connection } from './connection.js';
import type { Publishing } from './publishing.js';

export interface WillsOptions {
  readonly publishing: Publishing;
  readonly presence: Presence;
  readonly log: Logger;
}

/** Publishes the wills of clients that went without DISCONNECT. */
export class Wills {
  readonly #options: WillsOptions;

  constructor(options: WillsOptions) {
    this.#options = options;
  }

  /**
   * Takes a will from Aedes.
   *
   * @param connection undefined for a will that an earlier run of the gateway left behind
   */
  take(connection: Connection | undefined, will: Readonly<WillPacket>): void {
    if (connection?.isCredentialEnded === true) return;
    // A copy, because the broker clears retain flag and QoS of the packet of Aedes.
    const packet: IPublishPacket = { ...will, cmd: 'publish', dup: false };
    if (connection !== undefined) {
      this.#publish(connection.principal, packet);
      return;
    }
    const target = parsePublishTopic(will.topic);
    if (target.type !== 'alarm' && target.type !== 'message') return;
    // The will of a device that is back is not published (DEPENDENCY-FAULTS 11).
    if (this.#options.presence.of(target.deviceId).online) return;
    this.#publish({ type: 'device', id: target.deviceId }, packet);
  }

  #publish(principal: Connection['principal'], packet: IPublishPacket): void {
    this.#options.publishing.takeWill(principal, packet, (isStored) => {
      if (isStored) return;
      this.#options.log.warn({ principal: principalKey(principal) }, 'failed to store a will');
    });
  }
}

type WillPacket = Pick<IPublishPacket, 'topic' | 'payload' | 'qos' | 'retain'>;
