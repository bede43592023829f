import fc from 'fast-check';
import type { Packet } from 'mqtt-packet';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TestDevice, TestToken } from '../harness/clients/api.js';
import { publishPacket, RawClient } from '../harness/clients/raw-client.js';
import type { GatewayHere } from '../harness/gateway/gateway-here.js';
import { Home } from '../harness/home.js';
import { accountIn, accountOf } from '../harness/metrics.js';

/**
 * Tests delivery against a model that sees only MQTT and `/metrics`, and nothing inside the gateway.
 *
 * The model keeps its own count of what each destination must get. The tests compare the gateway's five figures with
 * that count, never with a sum of the figures themselves.
 */

const RUNS = Number(process.env['MODEL_RUNS'] ?? 5);
const DEVICES = 3;
/** The most telemetry that waits for a destination. */
const MAX_QUEUED = 12;
const LOGS = ['alarms', 'messages'] as const;
type Log = (typeof LOGS)[number];

let home: Home<GatewayHere>;

beforeAll(async () => {
  home = await Home.start({ GATEWAY_SESSIONS_MAX_QUEUED_MESSAGES: String(MAX_QUEUED) });
});

afterAll(() => home.remove());

interface Item {
  readonly device: number;
  readonly log: Log;
  /** Identifies the item; rises with each publish. */
  readonly number: number;
}

type Publish = Extract<Packet, { cmd: 'publish' }>;

/** A durable destination, and what it must get. */
class Nurse {
  readonly clientId: string;
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

  constructor(clientId: string, who: TestToken) {
    this.clientId = clientId;
    this.#who = who;
  }

  get isConnected(): boolean {
    return this.#client !== undefined;
  }

  async connect(): Promise<void> {
    if (this.#client !== undefined) return;
    const options = { clientId: this.clientId, clean: false, keepalive: 0 };
    this.#client = await RawClient.connect(home.gateway, this.#who, options);
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
      expect(await client.subscribe(filtersOf(device))).toEqual([1, 1]);
    });
    this.devices.add(device);
  }

  async unsubscribe(device: TestDevice): Promise<void> {
    await this.#over(async (client) => {
      client.send({ cmd: 'unsubscribe', messageId: 2, unsubscriptions: filtersOf(device) });
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
function filtersOf(device: TestDevice): string[] {
  return ['alarms/#', 'value/#'].map((rest) => home.filter(device, rest));
}

function numberIn(payload: string | Buffer): number {
  return Number(/"n":(\d+)/.exec(payload.toString())?.[1]);
}

/** One schedule of steps against the gateway. */
class Run {
  readonly nurses: readonly Nurse[];
  readonly #devices: readonly TestDevice[];
  #sensors: RawClient[] = [];
  #number = 0;

  private constructor(devices: readonly TestDevice[], nurses: readonly Nurse[]) {
    this.#devices = devices;
    this.nurses = nurses;
  }

  static async begin(): Promise<Run> {
    const devices = await Promise.all(Array.from({ length: DEVICES }, () => home.device()));
    const stamp = devices[0]?.id ?? '';
    const nurses = ['one', 'two'].map((name) => new Nurse(`${name}-${stamp}`, home.viewer));
    const run = new Run(devices, nurses);
    await run.#connectSensors();
    for (const [at, nurse] of nurses.entries()) await nurse.subscribe(run.device(at));
    return run;
  }

  device(at: number): TestDevice {
    const device = this.#devices[at];
    if (device === undefined) throw new Error('no device');
    return device;
  }

  nurse(at: number): Nurse {
    const nurse = this.nurses[at % this.nurses.length];
    if (nurse === undefined) throw new Error('no nurse');
    return nurse;
  }

  /** Publishes all messages together at QoS 1, and waits for the acknowledgements. */
  async publish(log: Log, device: number, count: number): Promise<void> {
    const sender = this.device(device);
    const sensor = this.#sensors[device];
    const topic = `devices/${sender.id}/${log === 'alarms' ? 'alarms' : 'value/x'}`;
    const numbers = Array.from({ length: count }, () => ++this.#number);
    for (const number of numbers) {
      for (const nurse of this.nurses) {
        if (nurse.devices.has(sender)) nurse.accepted.set(number, { device, log, number });
      }
      const payload = log === 'alarms' ? `{"kind":"fall","n":${number}}` : `{"n":${number}}`;
      sensor?.send({ ...publishPacket(topic, payload), qos: 1, messageId: number });
    }
    for (const _ of numbers) await sensor?.next('puback');
  }

  /** Restarts the gateway, and reconnects the clients that were connected. */
  async restart(): Promise<void> {
    const connected = this.nurses.filter(({ isConnected }) => isConnected);
    for (const nurse of connected) await nurse.disconnect();
    this.#close();
    await home.gateway.stop();
    await home.gateway.start();
    await this.#connectSensors();
    for (const nurse of connected) await nurse.connect();
  }

  async check(): Promise<void> {
    const metrics = await (await fetch(`${home.gateway.httpUrl}/metrics`)).text();
    for (const nurse of this.nurses) {
      nurse.check();
      for (const log of LOGS) {
        const account = accountIn(metrics, nurse.clientId, log);
        const accepted = nurse.acceptedOf(log).length;
        const delivered = nurse.acknowledgedOf(log);
        expect(account).toMatchObject({ accepted, delivered, expired: 0 });
        expect(account.queued).toBe(accepted - delivered - account.dropped);
        if (log === 'alarms') expect(account.dropped).toBe(0);
      }
    }
  }

  /** Has every destination take everything, and asserts that nothing is missing. */
  async drain(): Promise<void> {
    for (const nurse of this.nurses) {
      await nurse.connect();
      const left = async () => (await accountOf(home.gateway, nurse.clientId)).queued;
      while ((await left()) > 0) await nurse.acknowledge(Number.POSITIVE_INFINITY);
      const { dropped } = await accountOf(home.gateway, nurse.clientId);
      // What was sent and not acknowledged may have been dropped since.
      expect(nurse.acknowledged.size + dropped).toBe(nurse.accepted.size);
      for (const { number } of nurse.acceptedOf('alarms')) {
        expect(nurse.acknowledged.has(number)).toBe(true);
      }
    }
    await this.check();
    for (const nurse of this.nurses) await nurse.disconnect();
    this.#close();
  }

  async #connectSensors(): Promise<void> {
    this.#sensors = await Promise.all(
      this.#devices.map((device) => RawClient.connect(home.gateway, device)),
    );
  }

  #close(): void {
    for (const sensor of this.#sensors) sensor.vanish();
  }
}

interface Step {
  readonly take: (run: Run) => Promise<unknown>;
  /** The text of the step in a counterexample. */
  readonly [fc.toStringMethod]: () => string;
}

function step(text: string, take: Step['take']): Step {
  return { take, [fc.toStringMethod]: () => text };
}

const device = fc.nat({ max: DEVICES - 1 });
const who = fc.nat({ max: 1 });
const publishes = fc
  .tuple(fc.constantFrom(...LOGS), device, fc.integer({ min: 1, max: 8 }))
  .map(([log, of, count]) =>
    step(`${count} to ${log} of ${of}`, (run) => run.publish(log, of, count)),
  );
const acknowledgements = fc
  .tuple(who, fc.integer({ min: 1, max: 10 }))
  .map(([at, count]) => step(`${at} takes ${count}`, (run) => run.nurse(at).acknowledge(count)));
const steps = fc.oneof(
  { arbitrary: publishes, weight: 8 },
  { arbitrary: acknowledgements, weight: 6 },
  { arbitrary: who.map((at) => step(`${at} comes`, (run) => run.nurse(at).connect())), weight: 4 },
  {
    arbitrary: who.map((at) => step(`${at} goes`, (run) => run.nurse(at).disconnect())),
    weight: 3,
  },
  {
    arbitrary: fc
      .tuple(who, device)
      .map(([at, of]) =>
        step(`${at} subscribes to ${of}`, (run) => run.nurse(at).subscribe(run.device(of))),
      ),
    weight: 2,
  },
  {
    arbitrary: fc
      .tuple(who, device)
      .map(([at, of]) =>
        step(`${at} unsubscribes from ${of}`, (run) => run.nurse(at).unsubscribe(run.device(of))),
      ),
    weight: 2,
  },
  { arbitrary: fc.constant(step('restart', (run) => run.restart())), weight: 1 },
);

it('guarantees 2, 3 and 6: every destination gets what is its own, in order, and its account is true', async () => {
  const schedules = fc.array(steps, { maxLength: 40, size: 'max' });
  const property = fc.asyncProperty(schedules, async (schedule) => {
    const run = await Run.begin();
    for (const { take } of schedule) {
      await take(run);
      await run.check();
    }
    await run.drain();
  });
  await fc.assert(property, { numRuns: RUNS });
});
