import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { MqttClient } from 'mqtt';
import { Api, type TestDevice } from '../../test/former/clients/api.js';
import { connect, connectDevice } from '../../test/former/clients/mqtt-clients.js';
import { GatewayProcess } from '../../test/former/gateway/gateway-process.js';

const TICK_MS = 250;
const VALUE_EVERY_MS = 10_000;
const ALARM_EVERY_MS = 2_000;
const LAST_ALARM_WITHIN_MS = 5_000;

export interface HomeLoad {
  readonly devices: number;
  readonly seconds: number;
}

export interface HomeReport {
  readonly latenciesMs: readonly number[];
  /** Published alarms that had not arrived five seconds after the end. */
  readonly missing: number;
}

interface Sensor {
  readonly device: TestDevice;
  readonly client: MqttClient;
}

/** A home with its gateway on a shared store, its devices, and a nurse-call system. */
export class BusyHome {
  readonly #gateway: GatewayProcess;
  readonly #sensors: readonly Sensor[];
  readonly #nurse: MqttClient;

  private constructor(gateway: GatewayProcess, sensors: readonly Sensor[], nurse: MqttClient) {
    this.#gateway = gateway;
    this.#sensors = sensors;
    this.#nurse = nurse;
  }

  static async open(storeUrl: string, number: number, { devices }: HomeLoad): Promise<BusyHome> {
    const gateway = await GatewayProcess.start({
      GATEWAY_REDIS_URL: storeUrl,
      GATEWAY_SITE: siteOf(number),
    });
    const api = new Api(gateway);
    const { id: locationId } = await api.createLocation(`Home ${number}`);
    const sensors: Sensor[] = [];
    for (let index = 0; index < devices; index++) {
      const device = await api.createDevice(locationId, `Bed ${index}`);
      sensors.push({ device, client: await connectDevice(gateway, device) });
    }
    const { id: username, token: password } = await api.viewer(locationId);
    const session = { clientId: 'nurse-call', clean: false };
    const nurse = await connect(gateway, { username, password, ...session });
    await nurse.subscribeAsync(`care-homes/${locationId}/#`, { qos: 1 });
    return new BusyHome(gateway, sensors, nurse);
  }

  get processId(): number {
    return this.#gateway.processId;
  }

  /** Sends values and alarms for this long; resolves when the last alarm has arrived. */
  async run({ seconds }: HomeLoad): Promise<HomeReport> {
    const sentAtMs = new Map<string, number>();
    const latenciesMs: number[] = [];
    const take = (topic: string, payload: Buffer) => {
      if (!topic.includes('/alarms/')) return;
      const id = /"id":"([^"]+)"/.exec(payload.toString())?.[1] ?? '';
      const sentMs = sentAtMs.get(id);
      if (sentMs !== undefined && sentAtMs.delete(id)) {
        latenciesMs.push(performance.now() - sentMs);
      }
    };
    this.#nurse.on('message', take);
    await this.#send(seconds * 1000, sentAtMs);
    const deadlineMs = performance.now() + LAST_ALARM_WITHIN_MS;
    while (sentAtMs.size > 0 && performance.now() < deadlineMs) await nextTick();
    this.#nurse.off('message', take);
    return { latenciesMs, missing: sentAtMs.size };
  }

  async close(): Promise<void> {
    for (const { client } of this.#sensors) client.end(true);
    this.#nurse.end(true);
    await this.#gateway.remove();
  }

  /** Spreads the devices over the period, so that they do not all send together. */
  async #send(durationMs: number, sentAtMs: Map<string, number>): Promise<void> {
    const begunMs = performance.now();
    let values = 0;
    let alarms = 0;
    for (;;) {
      const elapsedMs = performance.now() - begunMs;
      if (elapsedMs >= durationMs) return;
      const valuesDue = (elapsedMs / VALUE_EVERY_MS) * this.#sensors.length;
      for (; values < valuesDue; values++) this.#sendValue(values);
      for (; alarms < elapsedMs / ALARM_EVERY_MS; alarms++) this.#sendAlarm(alarms, sentAtMs);
      await nextTick();
    }
  }

  #sendValue(number: number): void {
    const { device, client } = this.#sensorOf(number);
    client.publish(`devices/${device.id}/temperature`, '21.5', { qos: 1 });
  }

  #sendAlarm(number: number, sentAtMs: Map<string, number>): void {
    const { device, client } = this.#sensorOf(number);
    const id = randomUUID();
    sentAtMs.set(id, performance.now());
    client.publish(`devices/${device.id}/alarms`, JSON.stringify({ id, kind: 'fall' }), { qos: 1 });
  }

  #sensorOf(number: number): Sensor {
    const sensor = this.#sensors[number % this.#sensors.length];
    if (sensor === undefined) throw new Error('a home needs a device');
    return sensor;
  }
}

/** The names all have the same length. */
export function siteOf(number: number): string {
  return `home-${String(number).padStart(5, '0')}`;
}

function nextTick(): Promise<unknown> {
  return once(AbortSignal.timeout(TICK_MS), 'abort');
}
