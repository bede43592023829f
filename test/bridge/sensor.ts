import { randomUUID } from 'node:crypto';
import mqtt, { type MqttClient } from 'mqtt';
import type { TestDevice } from '../former/clients/api.js';
import type { RunningGateway } from '../former/gateway/running-gateway.js';

const RECONNECT_MS = 50;
const WAIT_MS = 30_000;

/**
 * A device that publishes in order, several messages at a time, and keeps a record of them.
 *
 * After a reconnect it sends unacknowledged messages again.
 */
export class Sensor {
  readonly device: TestDevice;
  /** The keys of its messages upstream (`Arrival.key`), in order of publishing. */
  readonly published: string[] = [];
  readonly #client: MqttClient;
  #acknowledged = 0;
  #onSettled: (() => void) | undefined;

  constructor(gateway: RunningGateway, device: TestDevice) {
    this.device = device;
    this.#client = mqtt.connect(gateway.mqttUrl, {
      clientId: `sensor-${device.id}`,
      username: device.id,
      password: device.secret,
      clean: false,
      reconnectPeriod: RECONNECT_MS,
    });
    this.#client.on('error', () => undefined);
  }

  /** Publishes an alarm and waits for nothing. Returns its id. */
  alarm(kind = 'fall', data: object = {}): string {
    const id = randomUUID();
    this.#publish('alarms', JSON.stringify({ kind, id, ...data }), id);
    return id;
  }

  alarms(count: number): void {
    for (let one = 0; one < count; one++) this.alarm();
  }

  /** Publishes any other message and waits for nothing; no two of one device may have the same value. */
  message(rest: string, value: unknown, options: { qos?: 1 | 2; retain?: boolean } = {}): string {
    const key = JSON.stringify(value);
    this.#publish(rest, key, key, options);
    return key;
  }

  /** Publishes alarms at this pace until the signal. */
  async keepAlarming(perSecond: number, signal: AbortSignal): Promise<void> {
    const startedMs = performance.now();
    let count = 0;
    while (!signal.aborted) {
      const due = ((performance.now() - startedMs) / 1000) * perSecond;
      for (; count < due; count++) this.alarm();
      await new Promise((resolve) => setTimeout(resolve, 1000 / perSecond));
    }
  }

  /** Resolves when everything is acknowledged: from then on nothing may be lost. */
  async settled(): Promise<void> {
    if (this.#acknowledged === this.published.length) return;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new Error(`${this.#acknowledged} of ${this.published.length} are acknowledged`));
      }, WAIT_MS);
      this.#onSettled = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  end(): Promise<void> {
    return this.#client.endAsync(true);
  }

  #publish(
    rest: string,
    payload: string,
    key: string,
    options: { qos?: 1 | 2; retain?: boolean } = {},
  ): void {
    this.published.push(key);
    const topic = `devices/${this.device.id}/${rest}`;
    this.#client.publish(topic, payload, { qos: 1, ...options }, (error) => {
      if (error) return;
      this.#acknowledged++;
      if (this.#acknowledged === this.published.length) this.#onSettled?.();
    });
  }
}
