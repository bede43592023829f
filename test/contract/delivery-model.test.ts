import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TestDevice } from '../former/clients/api.js';
import { publishPacket, RawClient } from '../former/clients/raw-client.js';
import type { GatewayHere } from '../former/gateway/gateway-here.js';
import { Home } from '../former/home.js';
import { accountIn, accountOf } from '../former/metrics.js';
import { LOGS, type Log, Nurse } from './model-nurse.js';

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

let home: Home<GatewayHere>;

beforeAll(async () => {
  home = await Home.start({ GATEWAY_SESSIONS_MAX_QUEUED_MESSAGES: String(MAX_QUEUED) });
});

afterAll(() => home.remove());

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
    const nurses = ['one', 'two'].map((name) => new Nurse(home, `${name}-${stamp}`, home.viewer));
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
