import type { Packet } from 'mqtt-packet';
import { expect } from 'vitest';
import type { TestDevice, TestToken } from '../former/clients/api.js';
import { RawClient } from '../former/clients/raw-client.js';
import type { Home } from '../former/home.js';

export const LOGS = ['alarms', 'messages'] as const;
export type Log = (typeof LOGS)[number];

export interface Item {
  readonly device: number;
  readonly log: Log;
  /** Identifies the item; rises with each publish. */
  readonly number: number;
}

type Publish = Extract<Packet, { cmd: 'publish' }>;

/** A durable destination, and what it must get. */
export class Nurse {
  readonly clientId: string;
  readonly #home: Home;
  readonly #who: TestToken;
  /** The devices that it subscribes to. */
  readonly devices = new Set<TestDevice>();
  readonly accepted = new Map<number, Item>();
  readonly acknowledged = new Set<number>();
  /** Numbers of each device and log, in the order of their first arrival. */
  readonly #arrived = new Map<string, number[]>();
  #client: RawClient | undefined;
  #read = 0;
  readonly #unacknowledged: Publish[] = [];

  constructor(home: Home, clientId: string, who: TestToken) {
    this.#home = home;
    this.clientId = clientId;
    this.#who = who;
  }

  get isConnected(): boolean {
    return this.#client !== undefined;
  }

  async connect(): Promise<void> {
    if (this.#client !== undefined) return;
    const options = { clientId: this.clientId, clean: false, keepalive: 0 };
    this.#client = await RawClient.connect(this.#home.gateway, this.#who, options);
    this.#read = 0;
    this.#unacknowledged.length = 0;
  }

  async disconnect(): Promise<void> {
    if (this.#client === undefined) return;
    this.#take();
    this.#client.send({ cmd: 'disconnect' });
    await this.#client.closed();
    this.#take();
    this.#client = undefined;
  }

  /** Subscribes, over a temporary connection if it has none. */
  async subscribe(device: TestDevice): Promise<void> {
    await this.#over(async (client) => {
      expect(await client.subscribe(filtersOf(this.#home, device))).toEqual([1, 1]);
    });
    this.devices.add(device);
  }

  async unsubscribe(device: TestDevice): Promise<void> {
    await this.#over(async (client) => {
      client.send({
        cmd: 'unsubscribe',
        messageId: 2,
        unsubscriptions: filtersOf(this.#home, device),
      });
      await client.next('unsuback');
    });
    this.devices.delete(device);
  }

  /** Acknowledges the oldest `count`, and waits until the gateway has read that. */
  async acknowledge(count: number): Promise<number> {
    const client = this.#client;
    if (client === undefined) return 0;
    this.#take();
    const taken = this.#unacknowledged.splice(0, count);
    for (const { messageId, payload } of taken) {
      client.send({ cmd: 'puback', messageId: messageId ?? 0 });
      this.acknowledged.add(numberIn(payload));
    }
    await client.ping();
    this.#take();
    return taken.length;
  }

  /** Asserts that the order of arrival never goes back, and that all messages are the destination's. */
  check(): void {
    for (const numbers of this.#arrived.values()) {
      expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
      for (const number of numbers) expect(this.accepted.has(number)).toBe(true);
    }
  }

  acceptedOf(log: Log): Item[] {
    return [...this.accepted.values()].filter((item) => item.log === log);
  }

  acknowledgedOf(log: Log): number {
    return this.acceptedOf(log).filter(({ number }) => this.acknowledged.has(number)).length;
  }

  #take(): void {
    const packets = this.#client?.packets ?? [];
    for (; this.#read < packets.length; this.#read++) {
      const packet = packets[this.#read];
      // A QoS 0 message is a live copy, which no account counts.
      if (packet?.cmd !== 'publish' || packet.qos === 0) continue;
      this.#unacknowledged.push(packet);
      const number = numberIn(packet.payload);
      const { device, log } = this.accepted.get(number) ?? { device: -1, log: 'alarms' };
      const numbers = this.#arrived.get(`${device} ${log}`) ?? [];
      this.#arrived.set(`${device} ${log}`, numbers);
      if (!numbers.includes(number)) numbers.push(number);
    }
  }

  async #over(work: (client: RawClient) => Promise<void>): Promise<void> {
    const wasConnected = this.isConnected;
    await this.connect();
    if (this.#client !== undefined) await work(this.#client);
    if (!wasConnected) await this.disconnect();
  }
}

/** Filters for everything but the status, which comes with each connection. */
function filtersOf(home: Home, device: TestDevice): string[] {
  return ['alarms/#', 'value/#'].map((rest) => home.filter(device, rest));
}

export function numberIn(payload: string | Buffer): number {
  return Number(/"n":(\d+)/.exec(payload.toString())?.[1]);
}
