import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, vi } from 'vitest';
import type { Home } from '../broker/home.js';
import type { TestDevice } from '../harness/api.js';
import { Subscriber } from '../harness/mqtt-clients.js';
import { publishPacket, RawClient } from '../harness/raw-client.js';

/** CONTRACT 4.4. */
const LIVE_WITHIN_MS = 1_000;
const RECOVERED_WITHIN_MS = 20_000;
const CONNECT_AGAIN_MS = 50;

/** Resolves when the check passes, which is tried again and again. */
export async function eventually<T>(check: () => T | Promise<T>, withinMs = 15_000): Promise<T> {
  return vi.waitFor(check, { timeout: withinMs, interval: 25 });
}

/** A sensor that shows every packet, and the alarms that it has sent. */
export class Sensor {
  readonly device: TestDevice;
  readonly client: RawClient;
  /** Ids, in the order in which they were sent; the first with packet identifier 1. */
  readonly sent: string[] = [];

  private constructor(device: TestDevice, client: RawClient) {
    this.device = device;
    this.client = client;
  }

  static async connect(home: Home, device: TestDevice, clean = true): Promise<Sensor> {
    const clientId = `sensor-${device.id}`;
    return new Sensor(device, await RawClient.connect(home.gateway, device, { clean, clientId }));
  }

  /** Sends an alarm and waits for nothing. Returns its id. */
  alarm(): string {
    const id = randomUUID();
    this.sent.push(id);
    const payload = JSON.stringify({ kind: 'fall', id });
    const packet = publishPacket(`devices/${this.device.id}/alarms`, payload);
    this.client.send({ ...packet, qos: 1, messageId: this.sent.length });
    return id;
  }

  /** Packet identifiers, in the order of their PUBACKs. */
  get acknowledged(): unknown[] {
    return this.client.packets.flatMap((one) => (one.cmd === 'puback' ? [one.messageId] : []));
  }

  /** Resolves when every alarm is acknowledged, and fails unless that happened in their order. */
  async allAcknowledged(): Promise<void> {
    await eventually(() => expect(this.acknowledged).toHaveLength(this.sent.length));
    expect(this.acknowledged).toEqual(this.sent.map((_, index) => index + 1));
  }

  /** Still connected, and served. */
  async isServed(): Promise<void> {
    await this.client.ping();
    expect(this.client.isClosed).toBe(false);
  }
}

/** A nurse-call system that sees all alarms of the home and the status of the gateway. */
export class Watcher {
  readonly subscriber: Subscriber;

  private constructor(subscriber: Subscriber) {
    this.subscriber = subscriber;
  }

  static async connect(home: Home): Promise<Watcher> {
    const subscriber = await Subscriber.connect(home.gateway, home.viewer);
    const alarms = `care-homes/${home.locationId}/devices/+/alarms/#`;
    return new Watcher(await subscriber.subscribe(alarms, 'gateway/status'));
  }

  /** Sends an alarm, which must arrive in time, whether it can be stored or not. */
  async sees(sensor: Sensor): Promise<void> {
    const sentMs = performance.now();
    const id = sensor.alarm();
    await this.subscriber.until((all) => all.some(({ text }) => text.includes(`"id":"${id}"`)));
    expect(performance.now() - sentMs).toBeLessThan(LIVE_WITHIN_MS);
  }

  /** Sends an alarm, which must arrive though it cannot be stored, and must not be acknowledged. */
  async seesLive(sensor: Sensor): Promise<void> {
    const before = sensor.acknowledged.length;
    await this.sees(sensor);
    const id = sensor.sent.at(-1);
    const [first] = this.subscriber.received.filter(({ text }) => text.includes(`"id":"${id}"`));
    expect(first?.qos).toBe(0);
    expect(sensor.acknowledged).toHaveLength(before);
  }

  /** Resolves when everything the sensor sent has come at QoS 1, once and in its order. */
  async seesStored(sensor: Sensor): Promise<void> {
    await eventually(() => expect(this.#storedOf(sensor)).toEqual(sensor.sent));
  }

  async seesFault(fault: RegExp): Promise<void> {
    await this.subscriber.until((all) =>
      all.some(({ topic, text }) => isStatus(topic, text, fault)),
    );
  }

  #storedOf({ device }: Sensor): unknown[] {
    return this.subscriber.received
      .filter(({ topic, qos }) => topic.includes(`/${device.id}/alarms/`) && qos === 1)
      .map(({ text }) => JSON.parse(text).id);
  }
}

function isStatus(topic: string, text: string, fault: RegExp): boolean {
  return topic === 'gateway/status' && fault.test(JSON.stringify(JSON.parse(text).faults));
}

/** `GET /readyz` names the fault, changes over HTTP are refused for now. */
export async function saysOverHttp(home: Home, device: TestDevice, fault: RegExp): Promise<void> {
  await eventually(async () => {
    const ready = await home.api.request('GET', '/readyz');
    expect(ready.status).toBe(503);
    expect(await ready.text()).toMatch(fault);
  });
  const change = await home.api.setCustomData(device, '{"changed":true}');
  expect(change.status).toBe(503);
  expect(Number(change.headers.get('retry-after'))).toBeGreaterThan(0);
}

export async function becomesReady(home: Home): Promise<void> {
  await eventually(async () => {
    const ready = await home.api.request('GET', '/readyz');
    expect(await ready.text()).toContain('"faults":[]');
    expect(ready.status).toBe(200);
  }, RECOVERED_WITHIN_MS);
}

/** What the sensor sent is acknowledged, forwarded as stored, and in the history, each once. */
export async function nothingIsLost(home: Home, sensor: Sensor, watcher: Watcher): Promise<void> {
  await sensor.allAcknowledged();
  await watcher.seesStored(sensor);
  await isRecorded(home, sensor.device, sensor.sent);
}

/** The history of the device consists of these alarms, each once. */
export async function isRecorded(
  home: Home,
  device: TestDevice,
  sent: readonly string[],
): Promise<void> {
  // Its connection to the store may come back a moment after the one of the alarms.
  const history = await eventually(() => home.api.allAlarms(device, '?limit=100&order=asc'));
  expect(history.map(({ id }) => id).sort()).toEqual([...sent].sort());
}

/** A Redis server of the operator's own, on a TCP port. */
export class OwnRedis {
  readonly port: number;
  readonly redis: Redis;
  readonly #directory: string;
  #process: ChildProcess | undefined;

  private constructor(port: number, directory: string) {
    this.port = port;
    this.#directory = directory;
    this.redis = new Redis({
      port,
      lazyConnect: true,
      maxRetriesPerRequest: null,
      retryStrategy: () => CONNECT_AGAIN_MS,
    });
    this.redis.on('error', () => undefined);
  }

  /** Not started yet; nothing listens on its port. */
  static async create(): Promise<OwnRedis> {
    const listener = createServer().listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const address = listener.address();
    listener.close();
    await once(listener, 'close');
    if (address === null || typeof address === 'string') throw new Error('no port');
    return new OwnRedis(address.port, await mkdtemp(join(tmpdir(), 'gateway-redis-')));
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const settings = { port: this.port, dir: this.#directory, save: '', bind: '127.0.0.1' };
    const durable = { appendonly: 'yes', appendfsync: 'always', 'maxmemory-policy': 'noeviction' };
    const args = Object.entries({ ...settings, ...durable }).flatMap(([name, value]) => [
      `--${name}`,
      String(value),
    ]);
    this.#process = spawn('redis-server', args, { stdio: 'ignore' });
    // The first attempt comes too early; what is asked waits for one that does not.
    this.redis.connect().catch(() => undefined);
    await this.redis.ping();
  }

  async remove(): Promise<void> {
    this.redis.disconnect();
    const process = this.#process;
    if (process !== undefined && process.exitCode === null) {
      process.kill('SIGKILL');
      await once(process, 'exit');
    }
    await rm(this.#directory, { recursive: true, force: true });
  }
}
