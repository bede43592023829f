import { randomUUID } from 'node:crypto';
import mqtt, { type IClientOptions, type MqttClient } from 'mqtt';
import { z } from 'zod';
import type { Received } from './mqtt-clients.js';

const RECONNECT_MS = 20;
const WAIT_MS = 120_000;

/** Identifies a forwarded message: by an alarm's id, or by a number in the data of any other. */
const forwardedSchema = z.object({
  id: z.string().optional(),
  device: z.object({ id: z.string() }),
  data: z.unknown().optional(),
});

export interface Arrival extends Received {
  /** By `performance.now()`. */
  readonly atMs: number;
  readonly deviceId: string | undefined;
  /** The id of an alarm, or the JSON text of any other message's data. */
  readonly key: string | undefined;
}

/**
 * Records everything that reaches a bridge's upstream.
 *
 * Its session there persists, and it reconnects immediately after an outage.
 */
export class UpstreamSubscriber {
  readonly arrivals: Arrival[] = [];
  /** Also called with each message. */
  onArrival: ((topic: string, payload: Buffer, qos: number) => void) | undefined;
  readonly #client: MqttClient;
  readonly #firstByDevice = new Map<string, Set<string>>();
  /** The same without live copies, which come at QoS 0 while the store is slow (contract.md, 4.4). */
  readonly #recordsByDevice = new Map<string, Set<string>>();
  readonly #ownTopic = `upstream-subscriber/${randomUUID()}`;
  #waiting: (() => void)[] = [];
  #marks = 0;
  #lastMark = 0;

  private constructor(client: MqttClient) {
    this.#client = client;
    client.on('error', () => undefined);
    client.on('message', (topic, payload, { qos, retain, dup }) => {
      const text = payload.toString();
      if (topic === this.#ownTopic) this.#lastMark = Number(text);
      else {
        this.#add({ topic, text, qos, retain, dup });
        this.onArrival?.(topic, payload, qos);
      }
      this.#changed();
    });
    client.on('connect', () => this.#changed());
  }

  /** Connects and subscribes at QoS 2, so that each message shows its own QoS. */
  static async connect(url: string, options: IClientOptions = {}): Promise<UpstreamSubscriber> {
    const client = mqtt.connect(url, {
      clientId: 'upstream-subscriber',
      clean: false,
      reconnectPeriod: RECONNECT_MS,
      ...options,
    });
    const subscriber = new UpstreamSubscriber(client);
    for (const { qos } of await client.subscribeAsync('#', { qos: 2 })) {
      if (qos !== 2) throw new Error(`the upstream granted ${qos}`);
    }
    return subscriber;
  }

  /** The keys of a device's messages without live copies, in the order of their first arrival. */
  firstOf(deviceId: string): string[] {
    return [...(this.#recordsByDevice.get(deviceId) ?? [])];
  }

  /** Resolves when this many of them have arrived. */
  async untilRecords(deviceId: string, count: number, timeoutMs = WAIT_MS): Promise<void> {
    const came = () => this.#recordsByDevice.get(deviceId)?.size ?? 0;
    const complaint = () => `${came()} of ${count} of ${deviceId} came`;
    await this.until(() => came() >= count, complaint, timeoutMs);
  }

  /** The number of distinct messages from devices. */
  get distinct(): number {
    let count = 0;
    for (const keys of this.#firstByDevice.values()) count += keys.size;
    return count;
  }

  get isConnected(): boolean {
    return this.#client.connected;
  }

  /** Resolves when all of these have arrived at least once. */
  async untilKeys(deviceId: string, keys: Iterable<string>, timeoutMs = WAIT_MS): Promise<void> {
    const missing = new Set(keys);
    const condition = () => {
      const first = this.#firstByDevice.get(deviceId);
      for (const key of missing) {
        if (first?.has(key) !== true) return false;
        missing.delete(key);
      }
      return true;
    };
    await this.until(condition, () => `${missing.size} of ${deviceId} did not come`, timeoutMs);
  }

  async untilDistinct(count: number, timeoutMs = WAIT_MS): Promise<void> {
    const complaint = () => `${this.distinct} of ${count} came`;
    await this.until(() => this.distinct >= count, complaint, timeoutMs);
  }

  /** Resolves to the first matching message, past or future. */
  async arrival(fits: (arrival: Arrival) => boolean, timeoutMs = WAIT_MS): Promise<Arrival> {
    let at = 0;
    const condition = () => {
      while (at < this.arrivals.length) {
        const arrival = this.arrivals[at];
        if (arrival !== undefined && fits(arrival)) return true;
        at++;
      }
      return false;
    };
    await this.until(condition, () => `nothing came that fits ${fits}`, timeoutMs);
    const found = this.arrivals[at];
    if (found === undefined) throw new Error('arrivals are only added');
    return found;
  }

  /** Resolves when the condition holds; checks on each arrival. */
  until(condition: () => boolean, complaint: () => string, timeoutMs = WAIT_MS): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer);
        this.#waiting = this.#waiting.filter((waiting) => waiting !== check);
      };
      const check = () => {
        if (!condition()) return;
        end();
        resolve();
      };
      const timer = setTimeout(() => {
        end();
        reject(new Error(complaint()));
      }, timeoutMs);
      this.#waiting.push(check);
      check();
    });
  }

  /**
   * Resolves when connected and no message is left at the upstream.
   *
   * Its own message has then arrived after all others. If the upstream dies from now on, nothing that
   * it acknowledged is lost.
   */
  async caughtUp(): Promise<void> {
    await this.until(
      () => this.isConnected,
      () => 'not connected',
    );
    this.#marks++;
    const mark = this.#marks;
    await this.publish(this.#ownTopic, String(mark));
    await this.until(
      () => this.#lastMark >= mark,
      () => 'its own message did not come',
    );
  }

  /** Publishes like any other client of the upstream: a command for a device, for example. */
  async publish(topic: string, payload: string, retain = false): Promise<void> {
    await this.#client.publishAsync(topic, payload, { qos: 1, retain });
  }

  end(): Promise<void> {
    return this.#client.endAsync(true);
  }

  #add(received: Received): void {
    const { deviceId, key } = identityOf(received.text);
    this.arrivals.push({ ...received, atMs: performance.now(), deviceId, key });
    if (deviceId === undefined || key === undefined) return;
    const first = this.#firstByDevice.get(deviceId) ?? new Set();
    this.#firstByDevice.set(deviceId, first.add(key));
    if (received.qos === 0) return;
    const records = this.#recordsByDevice.get(deviceId) ?? new Set();
    this.#recordsByDevice.set(deviceId, records.add(key));
  }

  #changed(): void {
    for (const check of [...this.#waiting]) check();
  }
}

function identityOf(text: string): Pick<Arrival, 'deviceId' | 'key'> {
  const nothing = { deviceId: undefined, key: undefined };
  if (!text.startsWith('{')) return nothing;
  const { data: message } = forwardedSchema.safeParse(JSON.parse(text));
  if (message === undefined) return nothing;
  const key = message.id ?? (message.data === undefined ? undefined : JSON.stringify(message.data));
  return { deviceId: message.device.id, key };
}
