import { RETAINED_ONLY } from '../mqtt/message-properties.js';
import { type StoreHeadroom, storedBytesOf } from '../site/health/store-headroom.js';
import type { Deliveries } from './deliveries.js';
import type { NewMessage } from './log/log-item.js';
import type { LogWriter } from './log/log-writer.js';
import type { RetainedMessages } from './retained/retained-messages.js';
import type { QoS } from './sessions/subscriptions.js';

const NOTHING = Buffer.alloc(0);

/** A message other than an alarm, as subscribers receive it. */
export interface MessageToForward extends NewMessage {
  readonly qos: QoS;
  readonly retain: boolean;
  /** Whether the message removes the retained message of its topic [MQTT-3.3.1-10]. */
  readonly removesRetained?: boolean;
  /** Whether a store short of room may skip retaining the message: true for a device's own. */
  readonly isExpendable?: boolean;
  /** The location of a command's device when the command was given. */
  readonly givenIn?: string;
}

export interface ForwarderOptions {
  readonly deliveries: Deliveries;
  readonly writer: Pick<LogWriter<NewMessage>, 'append'>;
  readonly retained: Pick<RetainedMessages, 'set'>;
  readonly headroom: Pick<StoreHeadroom, 'takes' | 'stored'>;
}

/** Forwards everything but alarms: telemetry, presence, commands, the gateway's status. */
export class Forwarder {
  readonly #options: ForwarderOptions;

  constructor(options: ForwarderOptions) {
    this.#options = options;
  }

  /**
   * Forwards a message.
   *
   * @param done called with true once the message is stored, also as a retained one, and accepted for every
   *   consumer, or at QoS 0 once it is sent; with false if it could not be stored
   */
  forward(message: MessageToForward, done: (isStored: boolean) => void): void {
    if (!message.retain) {
      this.#send(message, done);
      return;
    }
    const payload = message.removesRetained === true ? NOTHING : message.payload;
    const retained = this.#options.retained.set({ ...message, payload });
    if (message.qos === 0) this.#send(message, done);
    else this.#send(message, (isStored) => void retained.then(() => done(isStored)));
  }

  /** Sends to connected subscribers at QoS 1 and retains for later ones; queues nothing. */
  async announce(message: Omit<MessageToForward, 'qos' | 'retain'>): Promise<void> {
    const { deliveries, retained } = this.#options;
    deliveries.publishDirect({ ...message, properties: RETAINED_ONLY, qos: 1, retain: false });
    await retained.set({ ...message, qos: 1, retain: true });
  }

  /**
   * Sends a message; at QoS 1 through the store, if a durable consumer wants it and the store has room.
   *
   * A nearly full store is for alarms. The message then only reaches connected subscribers and still
   * counts as stored: a device whose telemetry gets no PUBACK would soon stop sending alarms too.
   */
  #send(message: MessageToForward, done: (isStored: boolean) => void): void {
    const { deliveries, writer, headroom } = this.#options;
    if (message.qos === 0) {
      deliveries.publishDirect({ ...message, retain: false });
      done(true);
      return;
    }
    const copies = deliveries.destinationsOf('messages', message).length;
    // The identifier of a QoS 2 publish is stored even if no consumer queues the message.
    const mustBeStored = copies > 0 || message.received !== undefined;
    const bytes = storedBytesOf(message) * Math.max(1, copies);
    if (mustBeStored && headroom.takes('telemetry', bytes)) {
      writer.append(message, (isStored) => {
        headroom.stored(bytes);
        done(isStored);
      });
      return;
    }
    const { topic, payload, receivedAtMs, locationId, groupId, properties } = message;
    const entry = {
      topic,
      payload,
      receivedAtMs,
      locationId,
      groupId,
      properties,
      source: message,
    };
    if (mustBeStored) deliveries.publishDirect({ ...message, retain: false });
    else deliveries.offerUnstored({ log: 'messages', sequence: 0, item: 0, ...entry });
    done(true);
  }
}
