import { randomUUID } from 'node:crypto';
import mqtt, { type MqttClient } from 'mqtt';
import type { AlarmKind } from '../domain/alarms.js';
import { deviceTopic } from '../domain/topics.js';
import type { Telemetry } from './care-home.js';
import { within } from './demo-error.js';
import type { InstalledDevice } from './management.js';

const ACKNOWLEDGE_DEADLINE_MS = 10_000;

/** The home's sensors: an MQTT client each, with the device's own credentials. */
export class Sensors {
  readonly #clients: ReadonlyMap<string, MqttClient>;

  private constructor(clients: ReadonlyMap<string, MqttClient>) {
    this.#clients = clients;
  }

  /** Connects every device. */
  static async connect(mqttUrl: string, devices: readonly InstalledDevice[]): Promise<Sensors> {
    const clients = new Map<string, MqttClient>();
    for (const { id, secret } of devices) {
      const client = await mqtt.connectAsync(mqttUrl, { username: id, password: secret });
      // mqtt.js reconnects by itself, and the ledger counts alarms that do not arrive.
      client.on('error', () => undefined);
      clients.set(id, client);
    }
    return new Sensors(clients);
  }

  /**
   * Publishes an alarm at QoS 1; resolves when the gateway has acknowledged it.
   *
   * @param onSend called with the alarm's id just before it is sent
   * @throws DemoError when the gateway does not acknowledge it
   */
  async publishAlarm(
    device: InstalledDevice,
    kind: AlarmKind,
    onSend: (alarmId: string, topic: string) => void,
  ): Promise<void> {
    const id = randomUUID();
    const topic = deviceTopic(device.id, 'alarms');
    const payload = JSON.stringify({ id, kind, detectedAt: new Date().toISOString() });
    onSend(id, topic);
    await within(
      this.#publish(device, topic, payload, 1),
      ACKNOWLEDGE_DEADLINE_MS,
      `the gateway did not acknowledge an alarm within ${ACKNOWLEDGE_DEADLINE_MS / 1000} s`,
    );
  }

  /** Publishes a reading at QoS 0, as the next reading replaces it. */
  async publishReading(
    device: InstalledDevice,
    telemetry: Telemetry,
    value: number,
    onSend: (topic: string) => void,
  ): Promise<void> {
    const topic = deviceTopic(device.id, telemetry.topic);
    onSend(topic);
    await this.#publish(device, topic, JSON.stringify({ [telemetry.field]: value }), 0);
  }

  /** Disconnects all sensors. */
  async end(): Promise<void> {
    await Promise.all([...this.#clients.values()].map((client) => client.endAsync(true)));
  }

  async #publish(device: InstalledDevice, topic: string, payload: string, qos: 0 | 1) {
    await this.#clients.get(device.id)?.publishAsync(topic, payload, { qos });
  }
}
