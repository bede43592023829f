import type { Consumer } from './consumer.js';
import type { OutgoingPublish, Receiver } from './message.js';
import type { QoS } from './sessions/subscriptions.js';

/** The connection of a group's member, which carries the messages of the group's queue (MQTT 5, 4.8.2). */
export class MemberReceiver implements Receiver {
  readonly #group: Consumer;
  readonly #member: Consumer;
  readonly #maxQos: QoS;
  readonly #connection: Receiver | undefined;

  /** @param maxQos the QoS of the member's subscription */
  constructor(group: Consumer, member: Consumer, maxQos: QoS) {
    this.#group = group;
    this.#member = member;
    this.#maxQos = maxQos;
    this.#connection = member.window.receiver;
  }

  /** Whether the member still has the same connection. */
  get isOpen(): boolean {
    return this.#connection !== undefined && this.#member.window.receiver === this.#connection;
  }

  get isWritable(): boolean {
    const { isWritable = false, maxInFlight = Number.POSITIVE_INFINITY } = this.#connection ?? {};
    return this.isOpen && isWritable && this.#member.window.inFlightCount < maxInFlight;
  }

  get takesProperties(): boolean {
    return this.#connection?.takesProperties === true;
  }

  get maxInFlight(): number {
    return this.#member.limits.maxInFlight;
  }

  /** Sends the message under one of the member's packet identifiers. */
  send(publish: OutgoingPublish): boolean {
    const { messageId } = publish;
    const settle = (isRefused: boolean) => this.#group.acknowledge(messageId, isRefused);
    if (publish.qos === 1 && this.#maxQos === 1) return this.#member.window.carry(publish, settle);
    const isSent = this.#connection?.send({ ...publish, qos: 0, messageId: 0 }) === true;
    // At QoS 0 no PUBACK follows.
    if (isSent && publish.qos === 1) settle(false);
    return isSent;
  }
}
