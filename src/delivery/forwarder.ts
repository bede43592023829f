import { randomBytes } from 'node:crypto';
import { RETAINED_ONLY } from '../mqtt/message-properties.js';
import type { Message } from './message.js';
import type { RetainedMessages } from './retained.js';
import type { Router } from './router.js';
import type { Writer } from './writer.js';

const NOTHING = Buffer.alloc(0);
const ID_BYTES = 16;

/** Forwards everything that is not about an alarm: telemetry, presence, commands, the gateway's status. */
export class Forwarder {
  readonly #router: Router;
  readonly #writer: Pick<Writer, 'append'>;
  readonly #retained: Pick<RetainedMessages, 'set'>;

  constructor(
    router: Router,
    writer: Pick<Writer, 'append'>,
    retained: Pick<RetainedMessages, 'set'>,
  ) {
    this.#router = router;
    this.#writer = writer;
    this.#retained = retained;
  }

  /**
   * Forwards a message.
   *
   * @param done called with true once the message is taken for every consumer, and stored if it is a command or
   *   retained; with false if it could not be stored
   * @param removesRetained whether it removes the retained message of its topic [MQTT-3.3.1-10]
   */
  forward(message: Message, done: (isStored: boolean) => void, removesRetained = false): void {
    const { payload, ...rest } = message;
    const live = { ...rest, payload, retain: false };
    if (message.retain !== true) {
      this.#send(live, done);
      return;
    }
    const retained = this.#retained.set(removesRetained ? { ...rest, payload: NOTHING } : message);
    if (message.qos === 0) this.#send(live, done);
    else this.#send(live, (isStored) => void retained.then(() => done(isStored)));
  }

  /** Sends to connected subscribers at QoS 1 and retains for later ones; queues nothing. */
  async announce(announced: Omit<Message, 'receivedAtMs'>): Promise<void> {
    const message = { ...announced, receivedAtMs: this.#router.services.now() };
    this.#router.publishDirect({ ...message, properties: RETAINED_ONLY });
    await this.#retained.set({ ...message, retain: true });
  }

  #send(message: Message, done: (isStored: boolean) => void): void {
    if (message.qos === 0) this.#router.publishDirect(message);
    else if (message.givenIn !== undefined && this.#router.isQueued(message)) {
      const commandId = randomBytes(ID_BYTES);
      this.#writer.append({ ...message, isNeverLate: true, commandId }, done);
      return;
    } else this.#router.queue(message);
    done(true);
  }
}
