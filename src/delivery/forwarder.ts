import { randomBytes } from 'node:crypto';
import { RETAINED_ONLY } from '../mqtt/message-properties.js';
import type { Deliveries } from './deliveries.js';
import type { Message } from './message.js';
import type { RetainedMessages } from './retained/retained-messages.js';
import type { QoS } from './sessions/subscriptions.js';
import type { Writer } from './writer.js';

const NOTHING = Buffer.alloc(0);
const ID_BYTES = 16;

/** A message other than an alarm, as subscribers receive it. */
export interface MessageToForward extends Message {
  readonly qos: QoS;
  readonly retain: boolean;
  /** Whether the message removes the retained message of its topic [MQTT-3.3.1-10]. */
  readonly removesRetained?: boolean;
  /** Whether a store short of room may skip retaining the message: true for a device's own. */
  readonly isExpendable?: boolean;
  /** Whether it is stored for the sessions of its device: true for a command. */
  readonly isCommand?: boolean;
  /** The location of a command's device when the command was given. */
  readonly givenIn?: string;
}

/** Forwards everything that is not about an alarm: telemetry, presence, commands, the gateway's status. */
export class Forwarder {
  readonly #deliveries: Deliveries;
  readonly #writer: Pick<Writer, 'append'>;
  readonly #retained: Pick<RetainedMessages, 'set'>;

  constructor(
    deliveries: Deliveries,
    writer: Pick<Writer, 'append'>,
    retained: Pick<RetainedMessages, 'set'>,
  ) {
    this.#deliveries = deliveries;
    this.#writer = writer;
    this.#retained = retained;
  }

  /**
   * Forwards a message.
   *
   * @param done called with true once the message is taken for every consumer, and stored if it is a command or
   *   retained; with false if it could not be stored
   */
  forward(message: MessageToForward, done: (isStored: boolean) => void): void {
    if (!message.retain) {
      this.#send(message, done);
      return;
    }
    const payload = message.removesRetained === true ? NOTHING : message.payload;
    const retained = this.#retained.set({ ...message, payload });
    if (message.qos === 0) this.#send(message, done);
    else this.#send(message, (isStored) => void retained.then(() => done(isStored)));
  }

  /** Sends to connected subscribers at QoS 1 and retains for later ones; queues nothing. */
  async announce(message: Omit<MessageToForward, 'qos' | 'retain'>): Promise<void> {
    const direct = { ...message, properties: RETAINED_ONLY, qos: 1, retain: false } as const;
    this.#deliveries.publishDirect(direct);
    await this.#retained.set({ ...message, qos: 1, retain: true });
  }

  #send(message: MessageToForward, done: (isStored: boolean) => void): void {
    const { topic, payload, receivedAtMs, locationId, groupId, properties, publisher } = message;
    if (message.qos === 0) {
      this.#deliveries.publishDirect({ ...message, retain: false });
      done(true);
      return;
    }
    const sent = { topic, payload, receivedAtMs, locationId, groupId, properties, publisher };
    if (message.isCommand === true && this.#deliveries.isQueued(sent)) {
      const commandId = randomBytes(ID_BYTES);
      this.#writer.append({ ...sent, isNeverLate: true, commandId }, done);
      return;
    }
    this.#deliveries.queue(sent);
    done(true);
  }
}
