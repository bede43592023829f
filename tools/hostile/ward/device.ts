import { setTimeout as delay } from 'node:timers/promises';
import type { TakeFrame } from '../../../test/harness/load/frames.js';
import type { NumberedPublish } from '../../../test/harness/load/numbered-publish.js';
import type { Login } from '../../../test/harness/load/plan.js';
import { type Endpoint, MqttSocket } from '../mqtt-socket.js';

const PUBACK = 4;
const RECONNECT_MS = 250;

/** A sensor: publishes alarms, and resends unacknowledged ones on a new connection. */
export class WardDevice {
  /** Connections that this client did not end itself. */
  disconnects = 0;
  readonly #endpoint: Endpoint;
  readonly #login: Login;
  readonly #publish: NumberedPublish;
  readonly #acknowledged: (publish: number) => void;
  /** Unacknowledged publishes by their number, which is also the packet identifier. */
  readonly #waiting = new Map<number, Buffer>();
  #mqtt: MqttSocket | undefined;

  constructor(
    endpoint: Endpoint,
    login: Login,
    publish: NumberedPublish,
    acknowledged: (publish: number) => void,
  ) {
    this.#endpoint = endpoint;
    this.#login = login;
    this.#publish = publish;
    this.#acknowledged = acknowledged;
  }

  /** Connects, and reconnects whenever the connection ends. */
  async open(): Promise<void> {
    const mqtt = await this.#connect();
    this.#mqtt = mqtt;
    for (const packet of this.#waiting.values()) mqtt.wire.socket.write(packet);
    mqtt.wire.closed.then(() => {
      this.disconnects++;
      this.#mqtt = undefined;
      return this.open();
    });
  }

  /** Publishes the alarm with this number, counted from 1. */
  send(publish: number): void {
    const packet = this.#publish.batch(publish, 1);
    this.#waiting.set(publish, packet);
    this.#mqtt?.wire.socket.write(packet);
  }

  async #connect(): Promise<MqttSocket> {
    for (;;) {
      const mqtt = new MqttSocket(this.#endpoint);
      mqtt.take = this.#take;
      if ((await mqtt.logIn(this.#login)) === 0) return mqtt;
      await delay(RECONNECT_MS);
    }
  }

  readonly #take: TakeFrame = (header, bytes, start) => {
    if (header >> 4 !== PUBACK) return;
    const publish = bytes.readUInt16BE(start);
    if (this.#waiting.delete(publish)) this.#acknowledged(publish);
  };
}
