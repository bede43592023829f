/**
 * Delivery against a model that sees only MQTT and `/metrics`. It keeps its own count of what each destination must
 * get, and compares the gateway's five figures with that, never with a sum of the figures themselves.
 */
import fc from 'fast-check';
import type { IPublishPacket } from 'mqtt-packet';
import {
  Client,
  expect,
  type Home,
  NO_LIMITS,
  type TestDevice,
  testWith,
} from '../harness/index.js';

const RUNS = Number(process.env['MODEL_RUNS'] ?? 8);
const DEVICES = 3;
/** The most telemetry that waits for a destination. */
const MAX_QUEUED = 12;
const LOGS = ['alarms', 'messages'] as const;
type Log = (typeof LOGS)[number];

const test = testWith({
  env: { ...NO_LIMITS, GATEWAY_SESSIONS_MAX_QUEUED_MESSAGES: String(MAX_QUEUED) },
});

interface Item {
  readonly device: number;
  readonly log: Log;
}

/** A durable destination, and what it must get, by a number that rises with each publish. */
class ModelNurse {
  readonly clientId: string;
  /** The devices that it subscribes to. */
  readonly devices = new Set<TestDevice>();
  readonly accepted = new Map<number, Item>();
  readonly acknowledged = new Set<number>();
  readonly #home: Home;
  /** Numbers of each device and log, in the order of their first arrival. */
  readonly #arrived = new Map<string, number[]>();
  #client: Client | undefined;
  #read = 0;
  readonly #unacknowledged: IPublishPacket[] = [];

  constructor(home: Home, clientId: string) {
    this.#home = home;
    this.clientId = clientId;
  }

  get isConnected(): boolean {
    return this.#client !== undefined;
  }

  async connect(): Promise<void> {
    if (this.#client !== undefined) return;
    const session = { clientId: this.clientId, clean: false, keepalive: 0, acknowledges: false };
    this.#client = await Client.connect(this.#home.gateway, this.#home.viewer, session);
    this.#read = 0;
    this.#unacknowledged.length = 0;
  }

  async disconnect(): Promise<void> {
    await this.#client?.end();
    this.#take();
    this.#client = undefined;
  }

  /** Subscribes, over a temporary connection if it has none. */
  async subscribe(device: TestDevice): Promise<void> {
    await this.#over(async (client) => {
      expect(await client.subscribe(this.#filtersOf(device))).toEqual([1, 1]);
    });
    this.devices.add(device);
  }

  async unsubscribe(device: TestDevice): Promise<void> {
    await this.#over((client) => client.unsubscribe(...this.#filtersOf(device)));
    this.devices.delete(device);
  }

  /** Acknowledges the oldest `count`, and waits until the gateway has read that. */
  async acknowledge(count: number): Promise<void> {
    const client = this.#client;
    if (client === undefined) return;
    this.#take();
    for (const { messageId = 0, payload } of this.#unacknowledged.splice(0, count)) {
      client.send({ cmd: 'puback', messageId });
      this.acknowledged.add(numberIn(payload));
    }
    await client.ping();
    this.#take();
  }

  /** The figures of its account; `dropped` is known to nobody else. */
  async check(): Promise<void> {
    for (const numbers of this.#arrived.values()) {
      expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
      for (const number of numbers) expect(this.accepted.has(number)).toBe(true);
    }
    for (const log of LOGS) {
      const own = [...this.accepted].filter(([, item]) => item.log === log);
      const accepted = own.length;
      const delivered = own.filter(([number]) => this.acknowledged.has(number)).length;
      const account = await this.#home.account(this.clientId, log);
      const dropped = account?.dropped ?? 0;
      if (log === 'alarms') expect(dropped).toBe(0);
      const queued = accepted - delivered - dropped;
      expect(account).toEqual({ accepted, delivered, queued, expired: 0, dropped });
    }
  }

  /** Forgets telemetry: it ends with the gateway. */
  forgetTelemetry(): void {
    for (const [number, { log, device }] of this.accepted) {
      if (log !== 'messages') continue;
      this.accepted.delete(number);
      this.acknowledged.delete(number);
      this.#arrived.delete(`${device} messages`);
    }
  }

  /** Takes everything, and checks that nothing is missing. */
  async drain(): Promise<void> {
    await this.connect();
    const account = async () =>
      (await this.#home.account(this.clientId)) ?? { queued: 0, dropped: 0 };
    while ((await account()).queued > 0) await this.acknowledge(Number.POSITIVE_INFINITY);
    // What was sent and not acknowledged may have been dropped since.
    expect(this.acknowledged.size + (await account()).dropped).toBe(this.accepted.size);
    await this.check();
    await this.disconnect();
    // Ends the session: a long run would have more than a site may.
    const session = { clientId: this.clientId, clean: true };
    await (await Client.connect(this.#home.gateway, this.#home.viewer, session)).end();
  }

  #take(): void {
    const received = this.#client?.received ?? [];
    for (; this.#read < received.length; this.#read++) {
      const { qos, packet } = received[this.#read] ?? {};
      // Live copies are in no account.
      if (packet === undefined || qos === 0) continue;
      this.#unacknowledged.push(packet);
      const number = numberIn(packet.payload);
      const { device, log } = this.accepted.get(number) ?? { device: -1, log: 'alarms' };
      const numbers = this.#arrived.get(`${device} ${log}`) ?? [];
      this.#arrived.set(`${device} ${log}`, numbers);
      if (!numbers.includes(number)) numbers.push(number);
    }
  }

  async #over(work: (client: Client) => Promise<unknown>): Promise<void> {
    const wasConnected = this.isConnected;
    await this.connect();
    if (this.#client !== undefined) await work(this.#client);
    if (!wasConnected) await this.disconnect();
  }

  /** Everything but the status, which comes with each connection. */
  #filtersOf(device: TestDevice): string[] {
    return ['alarms/#', 'value/#'].map((rest) => this.#home.filter(device, rest));
  }
}

function numberIn(payload: string | Buffer): number {
  return Number(/"n":(\d+)/.exec(payload.toString())?.[1]);
}

/** One schedule of steps against the gateway. */
class Run {
  readonly nurses: readonly ModelNurse[];
  readonly #home: Home;
  readonly #devices: readonly TestDevice[];
  #sensors: Client[] = [];
  #number = 0;

  private constructor(home: Home, devices: readonly TestDevice[]) {
    this.#home = home;
    this.#devices = devices;
    this.nurses = ['one', 'two'].map((name) => new ModelNurse(home, `${name}-${devices[0]?.id}`));
  }

  static async begin(home: Home): Promise<Run> {
    const devices = await Promise.all(Array.from({ length: DEVICES }, () => home.device()));
    const run = new Run(home, devices);
    await run.#connectSensors();
    for (const [at, nurse] of run.nurses.entries()) await nurse.subscribe(run.device(at));
    return run;
  }

  device(at: number): TestDevice {
    const device = this.#devices[at];
    if (device === undefined) throw new Error('no device');
    return device;
  }

  nurse(at: number): ModelNurse {
    const nurse = this.nurses[at];
    if (nurse === undefined) throw new Error('no nurse');
    return nurse;
  }

  /** Publishes all messages together at QoS 1, and waits for the acknowledgements. */
  async publish(log: Log, at: number, count: number): Promise<void> {
    const device = this.device(at);
    const topic = `devices/${device.id}/${log === 'alarms' ? 'alarms' : 'value/x'}`;
    const publishing = Array.from({ length: count }, () => {
      const number = ++this.#number;
      for (const nurse of this.nurses) {
        if (nurse.devices.has(device)) nurse.accepted.set(number, { device: at, log });
      }
      const payload = log === 'alarms' ? `{"kind":"fall","n":${number}}` : `{"n":${number}}`;
      return this.#sensors[at]?.publish(topic, payload);
    });
    await Promise.all(publishing);
  }

  /** Restarts the gateway, and reconnects the clients that were connected. */
  async restart(): Promise<void> {
    const connected = this.nurses.filter(({ isConnected }) => isConnected);
    for (const nurse of connected) await nurse.disconnect();
    this.#close();
    await this.#home.gateway.restart();
    for (const nurse of this.nurses) nurse.forgetTelemetry();
    await this.#connectSensors();
    for (const nurse of connected) await nurse.connect();
  }

  async check(): Promise<void> {
    for (const nurse of this.nurses) await nurse.check();
  }

  async drain(): Promise<void> {
    for (const nurse of this.nurses) await nurse.drain();
    this.#close();
  }

  async #connectSensors(): Promise<void> {
    this.#sensors = await Promise.all(
      this.#devices.map((device) => Client.connect(this.#home.gateway, device)),
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
const few = fc.integer({ min: 1, max: 10 });
const log = fc.constantFrom(...LOGS);
const pair = fc.tuple(who, device);
const steps = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .tuple(log, device, few)
      .map(([to, of, count]) =>
        step(`${count} to ${to} of ${of}`, (run) => run.publish(to, of, count)),
      ),
  },
  {
    weight: 6,
    arbitrary: fc
      .tuple(who, few)
      .map(([at, count]) =>
        step(`${at} takes ${count}`, (run) => run.nurse(at).acknowledge(count)),
      ),
  },
  { weight: 4, arbitrary: who.map((at) => step(`${at} comes`, (run) => run.nurse(at).connect())) },
  {
    weight: 3,
    arbitrary: who.map((at) => step(`${at} goes`, (run) => run.nurse(at).disconnect())),
  },
  {
    weight: 2,
    arbitrary: pair.map(([at, of]) =>
      step(`${at} subscribes to ${of}`, (run) => run.nurse(at).subscribe(run.device(of))),
    ),
  },
  {
    weight: 2,
    arbitrary: pair.map(([at, of]) =>
      step(`${at} unsubscribes from ${of}`, (run) => run.nurse(at).unsubscribe(run.device(of))),
    ),
  },
  { weight: 1, arbitrary: fc.constant(step('restart', (run) => run.restart())) },
);

test('guarantees 2, 3 and 6: every destination gets what is its own, in order, and its account is true', {
  timeout: 60_000 + RUNS * 10_000,
}, async ({ home }) => {
  const property = fc.asyncProperty(
    fc.array(steps, { maxLength: 40, size: 'max' }),
    async (all) => {
      const run = await Run.begin(home);
      for (const { take } of all) {
        await take(run);
        await run.check();
      }
      await run.drain();
    },
  );
  await fc.assert(property, { numRuns: RUNS });
});

test('guarantee 6: a full queue drops the oldest telemetry, and never an alarm', async ({
  home,
}) => {
  const sensor = await home.sensor();
  const filters = [home.filter(sensor.device, 'alarms/#'), home.filter(sensor.device, 'x')];
  const absent = await home.nurse({ filters, isDurable: true });
  await absent.leave();
  // More than a connection may have in flight.
  await sensor.raise(120);
  for (let n = 0; n < 3 * MAX_QUEUED; n++) await sensor.publish('x', String(n));
  const account = await home.account(absent.clientId, 'messages');
  expect(account?.dropped).toBe(2 * MAX_QUEUED);
  await absent.connect();
  await absent.untilRecords(120 + MAX_QUEUED);
  const telemetry = absent.messages('/x').map(({ data }) => data);
  expect(telemetry).toEqual(Array.from({ length: MAX_QUEUED }, (_, n) => 2 * MAX_QUEUED + n));
  await home.settled({ liveMayMiss: true });
});
