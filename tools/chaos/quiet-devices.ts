import { setTimeout as delay } from 'node:timers/promises';
import mqtt, { type MqttClient } from 'mqtt';
import { z } from 'zod';
import type { Api, TestDevice } from '../../test/former/clients/api.js';
import type { GatewayProcess } from '../../test/former/gateway/gateway-process.js';
import type { Violation } from './reconcile.js';

const DEVICES = 20;
/** The shortest time that the gateway accepts. */
const SILENT_AFTER_SECONDS = 60;
/** Longer than the silence takes, counting only the time in which the gateway is up. */
const TIMEOUT_MS = 240_000;
const LOOK_EVERY_MS = 100;

const eventSchema = z.object({
  id: z.string(),
  state: z.enum(['silent', 'heard']),
  device: z.object({ id: z.string() }),
});

/** Sensors that died: each publishes once and then never again. */
export class QuietDevices {
  readonly #devices: readonly TestDevice[];
  readonly #nurse: MqttClient;
  /** The ids of each device's received events: the same event may come again after a kill. */
  readonly #events = new Map<string, Set<string>>();

  private constructor(devices: readonly TestDevice[], nurse: MqttClient) {
    this.#devices = devices;
    this.#nurse = nurse;
    nurse.on('error', () => undefined);
    nurse.on('message', (_topic, payload) => {
      const { id, state, device } = eventSchema.parse(JSON.parse(payload.toString()));
      const ids = this.#events.get(device.id) ?? new Set();
      this.#events.set(device.id, ids.add(`${state} ${id}`));
    });
  }

  static async start(
    api: Api,
    gateway: Pick<GatewayProcess, 'mqttUrl'>,
    locationId: string,
  ): Promise<QuietDevices> {
    const viewer = await api.viewer(locationId);
    const nurse = mqtt.connect(gateway.mqttUrl, {
      clientId: 'chaos-supervisor',
      username: viewer.id,
      password: viewer.token,
      clean: false,
      reconnectPeriod: 200,
    });
    const devices: TestDevice[] = [];
    const quiet = new QuietDevices(devices, nurse);
    const filter = `care-homes/${locationId}/devices/+/supervision`;
    await nurse.subscribeAsync(filter, { qos: 1 });
    const supervision = { silentAfterSeconds: SILENT_AFTER_SECONDS };
    for (let index = 0; index < DEVICES; index++) {
      const device = await api.createDevice(locationId, `Quiet ${index + 1}`);
      devices.push(device);
      await api.json('PATCH', `/care-homes/${locationId}/devices/${device.id}`, { supervision });
      const { id: username, secret: password } = device;
      const sensor = await mqtt.connectAsync(gateway.mqttUrl, { username, password });
      await sensor.publishAsync(`devices/${username}/weight`, '70', { qos: 1 });
      await sensor.endAsync();
    }
    return quiet;
  }

  /** Waits until each is reported silent; returns those with any other report. */
  async violations(): Promise<Violation[]> {
    const untilMs = performance.now() + TIMEOUT_MS;
    const isSilent = ({ id }: TestDevice) => this.#events.has(id);
    while (!this.#devices.every(isSilent) && performance.now() < untilMs)
      await delay(LOOK_EVERY_MS);
    const missed = this.#devices.filter((device) => !isSilent(device)).map(({ id }) => id);
    const wrong = [...this.#events]
      .filter(([id, ids]) => ids.size !== 1 || !this.#devices.some((device) => device.id === id))
      .map(([id, ids]) => `${id}: ${[...ids].join(', ')}`);
    const found = [
      { what: 'silent and not reported', alarms: missed },
      { what: 'reported silent wrongly, or more than once', alarms: wrong },
    ];
    return found.filter(({ alarms }) => alarms.length > 0);
  }

  end(): Promise<void> {
    return this.#nurse.endAsync(true);
  }
}
