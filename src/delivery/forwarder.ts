import type { MessageToAppend, Recorder } from './recorder.js';
import type { RetainedMessages } from './retained-messages.js';
import type { Router } from './router.js';
import type { QoS } from './subscriptions.js';

const NOTHING = Buffer.alloc(0);

/** A message that is no alarm, as it is to reach the subscribers. */
export interface MessageToForward extends MessageToAppend {
  readonly qos: QoS;
  readonly retain: boolean;
  /** Whether it takes away what is retained under its topic [MQTT-3.3.1-10]. */
  readonly removesRetained?: boolean;
}

/** Sends everything but alarms on its way: telemetry, presence, commands, the gateway's status. */
export class Forwarder {
  readonly #router: Router;
  readonly #recorder: Recorder;
  readonly #retained: RetainedMessages;

  constructor(router: Router, recorder: Recorder, retained: RetainedMessages) {
    this.#router = router;
    this.#recorder = recorder;
    this.#retained = retained;
  }

  /**
   * At QoS 1 it is stored, and owed to every destination, when this resolves. At QoS 0 a retained one
   * reaches nobody when a newer one has come before it was stored.
   */
  async forward(message: MessageToForward): Promise<void> {
    if (message.retain) {
      const payload = message.removesRetained === true ? NOTHING : message.payload;
      if (!(await this.#retained.store({ ...message, payload }))) return;
    }
    if (message.qos === 0) {
      this.#router.publishDirect({ ...message, retain: false });
      return;
    }
    const { qos: _qos, retain: _retain, removesRetained: _removesRetained, ...entry } = message;
    const { entry: appended, isNew } = await this.#recorder.appendMessage(entry);
    this.#router.appended(appended, isNew);
  }

  /** Takes away everything that is retained under the filter, without a word to anyone. */
  async forget(filter: string): Promise<void> {
    for (const message of await this.#retained.matching([filter])) {
      await this.#retained.store({ ...message, payload: NOTHING });
    }
  }

  /** To whoever is connected, at QoS 1, and to later subscribers as retained; queued for nobody. */
  async announce(message: Omit<MessageToForward, 'qos' | 'retain'>): Promise<void> {
    this.#router.publishDirect({ ...message, qos: 1, retain: false });
    await this.#retained.store({ ...message, qos: 1, retain: true });
  }
}
