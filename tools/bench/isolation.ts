import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import mqtt, { type MqttClient } from 'mqtt';
import { Api, type TestToken } from '../../test/harness/clients/api.js';
import { RawClient } from '../../test/harness/clients/raw-client.js';
import { GatewayProcess } from '../../test/harness/gateway/gateway-process.js';
import { milliseconds, quantile, table, times } from './report.js';

const ALARMS_PER_SECOND = 500;
const SECONDS = 20;
const WARM_UP_SECONDS = 3;
const DEVICES = 10;
const TICK_MS = 10;
const TARGET_MS = 100;
const FILTERS = 1_000;

interface Ward {
  readonly gateway: GatewayProcess;
  readonly locationId: string;
  readonly viewer: TestToken;
  readonly sensors: readonly { readonly client: MqttClient; readonly topic: string }[];
}

/** Measures the latency to a good subscriber, alone and next to four bad ones. */
export async function isolation(): Promise<void> {
  const ward = await open();
  await latencies(ward, WARM_UP_SECONDS);
  const alone = await latencies(ward, SECONDS);
  const bad = await beginBad(ward);
  const beside = await latencies(ward, SECONDS);
  bad.kill('SIGKILL');
  const row = (name: string, part: number) => {
    const [without, withBad] = [quantile(alone, part), quantile(beside, part)];
    return [name, milliseconds(without), milliseconds(withBad), times(withBad / without)];
  };
  table(`From PUBLISH to delivery at ${ALARMS_PER_SECOND} alarms a second for ${SECONDS} s`, [
    ['', 'alone', 'with four bad ones', 'ratio'],
    row('median', 0.5),
    row('p99', 0.99),
    row('slowest', 1),
    ['delivered', String(alone.length), String(beside.length), ''],
  ]);
  const isMet = quantile(beside, 0.99) <= TARGET_MS;
  console.log(`  target: p99 at most ${TARGET_MS} ms: ${isMet ? 'met' : 'MISSED'}`);
  await besideSubscribing(ward);
  await Promise.all(ward.sensors.map(({ client }) => client.endAsync()));
  await ward.gateway.remove();
}

/** Measures the longest ping of another client while one subscribes to many filters. */
async function besideSubscribing({ gateway, locationId, viewer }: Ward): Promise<void> {
  const rows: string[][] = [];
  for (const clean of [true, false]) {
    for (const isOnePacket of [true, false]) {
      const client = await RawClient.connect(gateway, viewer, { clientId: randomUUID(), clean });
      const subscriptions = Array.from({ length: FILTERS }, (_, n) => {
        return { topic: `care-homes/${locationId}/devices/+/x${n}/#`, qos: 1 as const };
      });
      const packets = isOnePacket ? [subscriptions] : subscriptions.map((one) => [one]);
      client.send(
        ...packets.map((each, n) => {
          return { cmd: 'subscribe' as const, messageId: n + 1, subscriptions: each };
        }),
      );
      const isSubscribed = () =>
        client.packets.filter(({ cmd }) => cmd === 'suback').length === packets.length;
      const longestMs = await longestPingMs(gateway, viewer, isSubscribed);
      const session = clean ? 'clean' : 'persistent';
      rows.push([session, String(packets.length), milliseconds(longestMs)]);
      client.vanish();
    }
  }
  table(`The longest ping while another client subscribes to ${FILTERS} filters`, [
    ['session', 'SUBSCRIBEs', 'longest'],
    ...rows,
  ]);
}

async function longestPingMs(gateway: GatewayProcess, token: TestToken, isDone: () => boolean) {
  const client = await RawClient.connect(gateway, token);
  let longestMs = 0;
  do {
    const sentMs = performance.now();
    await client.ping();
    longestMs = Math.max(longestMs, performance.now() - sentMs);
  } while (!isDone());
  client.vanish();
  return longestMs;
}

async function open(): Promise<Ward> {
  const gateway = await GatewayProcess.start();
  const api = new Api(gateway);
  const { id: locationId } = await api.createLocation();
  const viewer = await api.viewer(locationId);
  const sensors = await Promise.all(
    Array.from({ length: DEVICES }, async () => {
      const { id, secret } = await api.createDevice(locationId);
      const options = { username: id, password: secret };
      const client = await mqtt.connectAsync(gateway.mqttUrl, options);
      return { client, topic: `devices/${id}/alarms` };
    }),
  );
  return { gateway, locationId, viewer, sensors };
}

async function beginBad({ gateway, viewer, locationId }: Ward): Promise<ChildProcess> {
  const program = fileURLToPath(new URL('bad-subscribers.js', import.meta.url));
  const args = [String(gateway.mqttPort), viewer.id, viewer.token, locationId];
  const child = fork(program, args);
  await once(child, 'message');
  return child;
}

async function latencies(ward: Ward, forSeconds: number): Promise<number[]> {
  const { gateway, locationId, viewer, sensors } = ward;
  const { id: username, token: password } = viewer;
  const nurse = await mqtt.connectAsync(gateway.mqttUrl, { username, password });
  await nurse.subscribeAsync(`care-homes/${locationId}/devices/+/alarms/#`, { qos: 1 });
  const sentMs: number[] = [];
  const found: number[] = [];
  const total = ALARMS_PER_SECOND * forSeconds;
  const all = new Promise<void>((resolve) => {
    nurse.on('message', (_topic, payload) => {
      const n = Number(/"n":(\d+)/.exec(payload.toString())?.[1]);
      found.push(performance.now() - (sentMs[n] ?? 0));
      if (found.length === total) resolve();
    });
  });
  await publishAtRate(sensors, total, sentMs);
  const deadline = new Promise<void>((resolve) => setTimeout(resolve, 5_000).unref());
  await Promise.race([all, deadline]);
  await nurse.endAsync(true);
  return found;
}

/** At each tick publishes all alarms that are due, without waiting for earlier ones. */
function publishAtRate(sensors: Ward['sensors'], total: number, sentMs: number[]): Promise<void> {
  const begunMs = performance.now();
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      const due = ((performance.now() - begunMs) / 1000) * ALARMS_PER_SECOND;
      while (sentMs.length < Math.min(due, total)) {
        const n = sentMs.length;
        const sensor = sensors[n % sensors.length];
        sentMs.push(performance.now());
        sensor?.client.publish(sensor.topic, `{"kind":"fall","n":${n}}`, { qos: 1 });
      }
      if (sentMs.length < total) return;
      clearInterval(timer);
      resolve();
    }, TICK_MS);
  });
}
