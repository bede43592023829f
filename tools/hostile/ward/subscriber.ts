import { setTimeout as delay } from 'node:timers/promises';
import { generate } from 'mqtt-packet';
import type { TakeFrame } from '../../../test/harness/load/frames.js';
import { type Numbered, numberedIn } from '../../../test/harness/load/numbered-publish.js';
import type { Login } from '../../../test/harness/load/plan.js';
import { identified } from '../../../test/harness/load/publisher.js';
import { type Endpoint, MqttSocket } from '../mqtt-socket.js';

const [PUBLISH, SUBACK] = [3, 9];
const PUBACK_HEADER = 0x40;
const RECONNECT_MS = 250;

export interface WardSubscriberOptions {
  readonly endpoint: Endpoint;
  readonly login: Login;
  readonly filter: string;
  readonly isDurable: boolean;
  readonly received: (numbered: Numbered) => void;
}

/** A nurse-call system: acknowledges what it receives, and reconnects when disconnected. */
export class WardSubscriber {
  /** Connections that this client did not end itself. */
  disconnects = 0;
  readonly #options: WardSubscriberOptions;
  #mqtt: MqttSocket | undefined;
  #subscribed: (() => void) | undefined;
  #isAway = false;

  constructor(options: WardSubscriberOptions) {
    this.#options = options;
  }

  /** Connects and subscribes, and does so again whenever the connection ends. */
  async open(): Promise<void> {
    this.#isAway = false;
    const mqtt = await this.#connect();
    this.#mqtt = mqtt;
    const subscribed = new Promise<void>((resolve) => {
      this.#subscribed = resolve;
    });
    const subscriptions = [{ topic: this.#options.filter, qos: 1 as const }];
    mqtt.wire.socket.write(generate({ cmd: 'subscribe', messageId: 1, subscriptions }));
    await Promise.race([subscribed, mqtt.wire.closed]);
    mqtt.wire.closed.then(() => {
      if (this.#isAway) return undefined;
      this.disconnects++;
      return this.open();
    });
  }

  /** Disconnects cleanly, until `open`. */
  async leave(): Promise<void> {
    this.#isAway = true;
    await this.#mqtt?.end();
  }

  async #connect(): Promise<MqttSocket> {
    const { endpoint, login, isDurable } = this.#options;
    for (;;) {
      const mqtt = new MqttSocket(endpoint);
      mqtt.take = this.#taking(mqtt);
      if ((await mqtt.logIn(login, { clean: !isDurable })) === 0) return mqtt;
      await delay(RECONNECT_MS);
    }
  }

  #taking({ wire }: MqttSocket): TakeFrame {
    return (header, bytes, start, end) => {
      const type = header >> 4;
      if (type === SUBACK) this.#subscribed?.();
      if (type !== PUBLISH) return;
      const topicEnd = start + 2 + bytes.readUInt16BE(start);
      if ((header & 0x06) !== 0) {
        wire.socket.write(identified(PUBACK_HEADER, [bytes.readUInt16BE(topicEnd)]));
      }
      const numbered = numberedIn(bytes, topicEnd, end);
      if (numbered !== undefined) this.#options.received(numbered);
    };
  }
}
