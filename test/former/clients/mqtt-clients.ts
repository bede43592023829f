import mqtt, { type IClientOptions, type MqttClient } from 'mqtt';
import { describedMqtt } from '../../harness/described/described-mqtt.js';
import type { RunningGateway } from '../gateway/running-gateway.js';
import type { TestDevice, TestToken } from './api.js';

/** One message as a subscriber received it. */
export interface Received {
  readonly topic: string;
  readonly text: string;
  readonly qos: number;
  readonly retain: boolean;
  readonly dup: boolean;
}

/** Connects a client that does not reconnect unless told to. */
export function connect(gateway: RunningGateway, options: IClientOptions): Promise<MqttClient> {
  return mqtt.connectAsync(gateway.mqttUrl, { reconnectPeriod: 0, ...options });
}

export function connectDevice(
  gateway: RunningGateway,
  device: TestDevice,
  options: IClientOptions = {},
): Promise<MqttClient> {
  return connect(gateway, { username: device.id, password: device.secret, ...options });
}

/**
 * A nurse-call system that records what it receives.
 *
 * A message that does not match the gateway's AsyncAPI document fails all later calls.
 */
export class Subscriber {
  readonly client: MqttClient;
  readonly received: Received[] = [];
  /** Those of QoS 1: with a slow store, alarms also come at QoS 0, as live copies (contract.md, 4.4). */
  readonly records: Received[] = [];
  #waiting: (() => void)[] = [];
  #fault: unknown;

  private constructor(client: MqttClient) {
    this.client = client;
    client.on('message', (topic, payload, packet) => {
      const { qos, retain, dup } = packet;
      const message = { topic, text: payload.toString(), qos, retain, dup };
      this.received.push(message);
      if (qos > 0) this.records.push(message);
      this.#hold(message);
      for (const check of [...this.#waiting]) check();
    });
  }

  static async connect(
    gateway: RunningGateway,
    token: TestToken,
    options: IClientOptions = {},
  ): Promise<Subscriber> {
    // Listen before it connects: a persistent session's backlog follows CONNACK immediately.
    const client = mqtt.connect(gateway.mqttUrl, {
      reconnectPeriod: 0,
      username: token.id,
      password: token.token,
      ...options,
    });
    const subscriber = new Subscriber(client);
    await new Promise<void>((resolve, reject) => {
      client.once('connect', () => resolve());
      client.once('error', reject);
    });
    return subscriber;
  }

  async subscribe(...filters: string[]): Promise<this> {
    await this.client.subscribeAsync(filters, { qos: 1 });
    return this;
  }

  /** Resolves when the condition on the received messages holds. */
  until(condition: (received: readonly Received[]) => boolean, timeoutMs = 120_000): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new Error(`not received: ${condition}; had ${this.received.length} messages`));
      }, timeoutMs);
      const check = () => {
        const isFaulty = this.#fault !== undefined;
        if (!isFaulty && !condition(this.received)) return;
        clearTimeout(timer);
        this.#waiting = this.#waiting.filter((waiting) => waiting !== check);
        if (isFaulty) reject(this.#fault);
        else resolve();
      };
      this.#waiting.push(check);
      check();
    });
  }

  async untilCount(count: number, timeoutMs?: number): Promise<void> {
    await this.until((received) => received.length >= count, timeoutMs);
  }

  async untilRecords(count: number, timeoutMs?: number): Promise<void> {
    await this.until(() => this.records.length >= count, timeoutMs);
  }

  /** The parsed messages on topics that contain the text. */
  messages(topicPart = ''): Record<string, unknown>[] {
    this.#requireNoFault();
    return this.received
      .filter(({ topic }) => topic.includes(topicPart))
      .map(({ text }) => JSON.parse(text));
  }

  async end(): Promise<void> {
    await this.client.endAsync();
    this.#requireNoFault();
  }

  #hold(message: Received): void {
    try {
      describedMqtt.check(message);
    } catch (error) {
      this.#fault ??= error;
    }
  }

  #requireNoFault(): void {
    if (this.#fault !== undefined) throw this.#fault;
  }
}
