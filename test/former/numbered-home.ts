import type { MqttClient } from 'mqtt';
import { expect } from 'vitest';
import { z } from 'zod';
import type { TestDevice, TestToken } from './clients/api.js';
import { connectDevice, type Received, Subscriber } from './clients/mqtt-clients.js';
import type { RunningGateway } from './gateway/running-gateway.js';
import { Home } from './home.js';

const numbered = z.object({
  data: z.object({ n: z.number() }),
  device: z.object({ id: z.string() }),
});

export type PublishQos = 0 | 1 | 2;
export const EACH_QOS: readonly PublishQos[] = [0, 1, 2];

/** A sensor that numbers its messages. */
export class Sensor {
  readonly device: TestDevice;
  readonly #gateway: RunningGateway;
  readonly #qos: PublishQos;
  #client: MqttClient | undefined;
  /** How many alarms it has published. */
  alarms = 0;
  messages = 0;

  constructor(gateway: RunningGateway, device: TestDevice, qos: PublishQos) {
    this.#gateway = gateway;
    this.#qos = qos;
    this.device = device;
  }

  /** Publishes more alarms together. At QoS 1 and 2 it resolves once they are acknowledged. */
  async alarm(count = 1, padding = ''): Promise<void> {
    await this.#publish('alarms', count, this.#qos, () =>
      JSON.stringify({ kind: 'fall', n: this.alarms++, ...(padding !== '' && { padding }) }),
    );
  }

  /** Publishes messages other than alarms, at QoS 1. */
  async message(count = 1): Promise<void> {
    await this.#publish('x', count, 1, () => `{"n":${this.messages++}}`);
  }

  async end(): Promise<void> {
    await this.#client?.endAsync(true);
    this.#client = undefined;
  }

  async #publish(
    rest: string,
    count: number,
    qos: PublishQos,
    payload: () => string,
  ): Promise<void> {
    this.#client ??= await connectDevice(this.#gateway, this.device, { reconnectPeriod: 50 });
    const client = this.#client;
    const topic = `devices/${this.device.id}/${rest}`;
    await Promise.all(
      Array.from({ length: count }, () => client.publishAsync(topic, payload(), { qos })),
    );
  }
}

/** A test's own care home, whose sensors number their messages. */
export class NumberedHome {
  readonly home: Home;
  readonly sensors: readonly Sensor[];

  private constructor(home: Home, sensors: readonly Sensor[]) {
    this.home = home;
    this.sensors = sensors;
  }

  /** Opens a home whose sensors publish at these QoS in turn. */
  static async open(
    gateway: RunningGateway,
    sensors = 1,
    qos: readonly PublishQos[] = [1],
  ): Promise<NumberedHome> {
    const home = await Home.at(gateway);
    const devices = await Promise.all(Array.from({ length: sensors }, () => home.device()));
    return new NumberedHome(
      home,
      devices.map((device, at) => new Sensor(gateway, device, qos[at % qos.length] ?? 1)),
    );
  }

  get locationId(): string {
    return this.home.locationId;
  }

  get viewer(): TestToken {
    return this.home.viewer;
  }

  get sensor(): Sensor {
    const [first] = this.sensors;
    if (first === undefined) throw new Error('no sensor');
    return first;
  }

  get alarmFilter(): string {
    return this.filter('alarms/#');
  }

  filter(rest: string): string {
    return `care-homes/${this.locationId}/devices/+/${rest}`;
  }

  /** Publishes more alarms from all sensors together; resolves once they are acknowledged. */
  async alarm(count = 1): Promise<void> {
    const each = Math.ceil(count / this.sensors.length);
    await Promise.all(this.sensors.map((sensor) => sensor.alarm(each)));
  }

  /** Resolves when all alarms are recorded, whatever their QoS. */
  async recorded(): Promise<void> {
    for (const { device, alarms } of this.sensors) {
      const count = async () => (await this.home.api.allAlarms(device, '?limit=100')).length;
      await expect.poll(count).toBe(alarms);
    }
  }

  get alarmCount(): number {
    return this.sensors.reduce((sum, { alarms }) => sum + alarms, 0);
  }

  /** Connects a nurse-call system to its persistent session. */
  nurse(clientId: string): Promise<Subscriber> {
    return Subscriber.connect(this.home.gateway, this.viewer, { clientId, clean: false });
  }

  /** Creates a nurse-call system's session, subscribed and disconnected. */
  async absentNurse(clientId: string, ...filters: string[]): Promise<void> {
    const nurse = await this.nurse(clientId);
    await nurse.subscribe(...(filters.length > 0 ? filters : [this.alarmFilter]));
    await nurse.end();
  }

  async close(): Promise<void> {
    await Promise.all(this.sensors.map((sensor) => sensor.end()));
  }

  /** Expects each alarm of each sensor; first arrivals must be in the order of publishing. */
  expectAllInOrder(...received: readonly (readonly Message[])[]): void {
    for (const sensor of this.sensors) {
      const numbers = numbersOf(received.flat(), sensor.device.id);
      expect([...new Set(numbers)]).toEqual(range(0, sensor.alarms));
    }
  }
}

type Message = Pick<Received, 'text' | 'qos'>;

/**
 * The messages without live copies (contract.md, 4.4): those at QoS 0 that also come at QoS 1.
 *
 * If the store is slow for 400 ms, as on a busy machine, new alarms are sent ahead of their records.
 */
export function withoutLiveCopies<M extends Message>(received: readonly M[]): M[] {
  const records = new Set(received.filter(({ qos }) => qos > 0).map(({ text }) => text));
  return received.filter(({ text, qos }) => qos > 0 || !records.has(text));
}

/** The numbers of the messages without live copies, in order of arrival; of one device or of all. */
export function numbersOf(received: readonly Message[], deviceId?: string): number[] {
  return withoutLiveCopies(received)
    .map(({ text }) => numbered.parse(JSON.parse(text)))
    .filter(({ device }) => deviceId === undefined || device.id === deviceId)
    .map(({ data }) => data.n);
}

export function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}
