import { randomUUID } from 'node:crypto';
import type { MqttClient } from 'mqtt';
import type { TestDevice } from '../former/clients/api.js';

import { connectDevice } from '../former/clients/mqtt-clients.js';
import type { RunningGateway } from '../former/gateway/running-gateway.js';

const PERIOD_MS = 100;

/** A sensor that raises ten alarms a second until told to stop, whatever happens to them. */
export class SteadySensor {
  readonly device: TestDevice;
  /** Ids in the order of sending. */
  readonly sent: string[] = [];
  /** Ids in the order of their PUBACKs. */
  readonly acknowledged: string[] = [];
  readonly #client: MqttClient;
  readonly #timer: NodeJS.Timeout;
  #waiting: (() => void)[] = [];

  private constructor(device: TestDevice, client: MqttClient) {
    this.device = device;
    this.#client = client;
    this.#timer = setInterval(() => this.#alarm(), PERIOD_MS);
  }

  static async start(gateway: RunningGateway, device: TestDevice): Promise<SteadySensor> {
    return new SteadySensor(device, await connectDevice(gateway, device));
  }

  /** Resolves once this many of the alarms sent from now on are acknowledged. */
  async untilMoreAcknowledged(count: number): Promise<void> {
    const before = this.sent.length;
    await this.#until(() => {
      const later = new Set(this.sent.slice(before));
      return this.acknowledged.filter((id) => later.has(id)).length >= count;
    });
  }

  /** Resolves once this many more are sent. */
  async untilMoreSent(count: number): Promise<void> {
    const wanted = this.sent.length + count;
    await this.#until(() => this.sent.length >= wanted);
  }

  /** Sends no more; resolves once all are acknowledged. */
  async finish(): Promise<void> {
    clearInterval(this.#timer);
    await this.#until(() => this.acknowledged.length === this.sent.length);
    await this.#client.endAsync();
  }

  /** Ends the sensor, even with unacknowledged alarms. */
  async end(): Promise<void> {
    clearInterval(this.#timer);
    await this.#client.endAsync(true);
  }

  #alarm(): void {
    const id = randomUUID();
    this.sent.push(id);
    const payload = JSON.stringify({ kind: 'fall', id });
    this.#changed();
    this.#client.publish(`devices/${this.device.id}/alarms`, payload, { qos: 1 }, (error) => {
      if (error) return;
      this.acknowledged.push(id);
      this.#changed();
    });
  }

  #changed(): void {
    for (const check of [...this.#waiting]) check();
  }

  #until(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const check = () => {
        if (!condition()) return;
        this.#waiting = this.#waiting.filter((waiting) => waiting !== check);
        resolve();
      };
      this.#waiting.push(check);
      check();
    });
  }
}
