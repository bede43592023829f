import mqtt, { type MqttClient } from 'mqtt';
import { Api } from '../../test/harness/clients/api.js';
import { GatewayProcess } from '../../test/harness/gateway/gateway-process.js';
import { milliseconds, quantile, table, times } from './report.js';

const SESSIONS = 2_000;
const AT_A_TIME = 50;
const ROUNDS = 20;
const PUBLISHES = 100;
const MAX_RATIO = 1.1;

/** A gateway with one device, in a location that this many absent clients subscribe to. */
class Site {
  readonly times: number[] = [];
  readonly #gateway: GatewayProcess;
  readonly #device: MqttClient;
  readonly #topic: string;

  private constructor(gateway: GatewayProcess, device: MqttClient, topic: string) {
    this.#gateway = gateway;
    this.#device = device;
    this.#topic = topic;
  }

  static async open(sessions: number): Promise<Site> {
    const gateway = await GatewayProcess.start({
      GATEWAY_LIMITS_TOKEN_PERSISTENT_SESSIONS: String(SESSIONS),
      GATEWAY_LIMITS_TOTAL_PERSISTENT_SESSIONS: String(SESSIONS),
    });
    const api = new Api(gateway);
    const { id: locationId } = await api.createLocation();
    const { id: username, token: password } = await api.viewer(locationId);
    const abandon = async (number: number) => {
      const options = { clientId: `gone-${number}`, clean: false, username, password };
      const client = await mqtt.connectAsync(gateway.mqttUrl, options);
      await client.subscribeAsync(`care-homes/${locationId}/#`, { qos: 1 });
      await client.endAsync();
    };
    for (let first = 0; first < sessions; first += AT_A_TIME) {
      await Promise.all(Array.from({ length: AT_A_TIME }, (_, at) => abandon(first + at)));
    }
    const { id, secret } = await api.createDevice(locationId);
    const device = await mqtt.connectAsync(gateway.mqttUrl, { username: id, password: secret });
    return new Site(gateway, device, `devices/${id}/alarms`);
  }

  /** Publishes one by one; returns the times from PUBLISH to PUBACK. */
  async publish(count: number): Promise<number[]> {
    const durations: number[] = [];
    for (let left = count; left > 0; left--) {
      const begunMs = performance.now();
      await this.#device.publishAsync(this.#topic, '{"kind":"fall"}', { qos: 1 });
      durations.push(performance.now() - begunMs);
    }
    return durations;
  }

  async measure(): Promise<void> {
    this.times.push(...(await this.publish(PUBLISHES)));
  }

  async close(): Promise<void> {
    await this.#device.endAsync();
    await this.#gateway.remove();
  }
}

/** Measures how much abandoned persistent sessions slow down a publish. */
export async function abandoned(): Promise<void> {
  const none = await Site.open(0);
  const many = await Site.open(SESSIONS);
  // In turns, so that other load on the machine affects both.
  for (const site of [none, many]) await site.publish(PUBLISHES);
  for (let round = 0; round < ROUNDS; round++) {
    await none.measure();
    await many.measure();
  }
  const row = (name: string, part: number) => {
    const [without, withMany] = [quantile(none.times, part), quantile(many.times, part)];
    return [name, milliseconds(without), milliseconds(withMany), times(withMany / without)];
  };
  table('From PUBLISH to PUBACK, by the persistent sessions that were abandoned', [
    ['', 'none', SESSIONS.toLocaleString('en'), 'ratio'],
    row('median', 0.5),
    row('p99', 0.99),
  ]);
  const ratio = quantile(many.times, 0.5) / quantile(none.times, 0.5);
  console.log(`  target: at most ${times(MAX_RATIO)}: ${ratio <= MAX_RATIO ? 'met' : 'MISSED'}`);
  await none.close();
  await many.close();
}
