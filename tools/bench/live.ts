import { randomUUID } from 'node:crypto';
import type { Packet } from 'mqtt-packet';
import { Api, type TestDevice } from '../../test/former/clients/api.js';
import { publishPacket, RawClient } from '../../test/former/clients/raw-client.js';
import { GatewayProcess } from '../../test/former/gateway/gateway-process.js';
import { RemoteStore } from '../../test/former/servers/remote-store.js';
import { Store } from '../../test/former/stored/store.js';
import { milliseconds, quantile, table } from './report.js';

const TARGET_MS = 1_000;
const ALARMS = 10;
/** How many messages the device sends immediately before the alarm. */
const SENT_BEFORE = 1_000;
/** Below and above the time after which the gateway considers the store slow. */
const DELAYS_MS = [190, 400];

type Publish = (device: TestDevice, number: number) => Packet;

const BEFORE: ReadonlyMap<string, Publish> = new Map<string, Publish>([
  ['alarms', ({ id }, messageId) => alarmOf(id, messageId)],
  [
    'values',
    ({ id }, messageId) => ({ ...publishPacket(`devices/${id}/x`, '1'), qos: 1, messageId }),
  ],
  [
    'retained values',
    ({ id }, n) => ({ ...publishPacket(`devices/${id}/x/${n}`, '1'), retain: true }),
  ],
]);

/** Measures how soon an alarm, stored or not, reaches a subscriber while the store is slow or silent. */
export async function live(): Promise<void> {
  const rows = [...(await besideSlowStore()), ...(await besideSilentStore())];
  table(
    `From PUBLISH to delivery of ${ALARMS} alarms, each behind ${SENT_BEFORE} of the same device`,
    [
      ['store', 'behind', 'median', 'slowest'],
      ...rows.map(({ store, name, latencies }) => [
        store,
        name,
        ...[0.5, 1].map((part) => milliseconds(quantile(latencies, part))),
      ]),
    ],
  );
  const slowestMs = quantile(
    rows.flatMap(({ latencies }) => latencies),
    1,
  );
  console.log(`  target: at most ${TARGET_MS} ms: ${slowestMs <= TARGET_MS ? 'met' : 'MISSED'}`);
}

async function besideSlowStore() {
  const remote = await RemoteStore.start();
  const gateway = await GatewayProcess.start({ GATEWAY_REDIS_URL: remote.url });
  const rows = [];
  for (const delayMs of DELAYS_MS) {
    const trouble = (isOn: boolean) => remote.slowDown(isOn ? delayMs : 0);
    for (const [name, before] of BEFORE) {
      const latencies = await latenciesOf(gateway, before, trouble);
      rows.push({ store: `answers after ${delayMs} ms`, name, latencies });
    }
  }
  await gateway.remove();
  await remote.remove();
  return rows;
}

async function besideSilentStore() {
  const gateway = await GatewayProcess.start();
  const store = await Store.of(gateway);
  const trouble = (isOn: boolean) => (isOn ? store.freeze() : store.thaw());
  const rows = [];
  for (const [name, before] of BEFORE) {
    rows.push({ store: 'silent', name, latencies: await latenciesOf(gateway, before, trouble) });
  }
  store.close();
  await gateway.remove();
  return rows;
}

async function latenciesOf(
  gateway: GatewayProcess,
  before: Publish,
  trouble: (isOn: boolean) => void,
): Promise<number[]> {
  const api = new Api(gateway);
  const { id: locationId } = await api.createLocation();
  const viewer = await api.viewer(locationId);
  const latencies: number[] = [];
  for (let count = 0; count < ALARMS; count++) {
    const device = await api.createDevice(locationId);
    const nurse = await RawClient.connect(gateway, viewer);
    await nurse.subscribe([`care-homes/${locationId}/devices/${device.id}/alarms/#`]);
    const sensor = await RawClient.connect(gateway, device);
    trouble(true);
    sensor.send(...Array.from({ length: SENT_BEFORE }, (_, n) => before(device, n + 1)));
    const sentMs = performance.now();
    const id = randomUUID();
    sensor.send(alarmOf(device.id, SENT_BEFORE + 1, id));
    await nurse.until((came) => came.some((one) => isAlarm(one, id)), 'the alarm does not come');
    latencies.push(performance.now() - sentMs);
    trouble(false);
    const isLast = (one: Packet) => one.cmd === 'puback' && one.messageId === SENT_BEFORE + 1;
    await sensor.until((came) => came.some(isLast), 'the alarm is not acknowledged');
    for (const client of [sensor, nurse]) client.vanish();
  }
  return latencies;
}

function alarmOf(deviceId: string, messageId: number, id: string = randomUUID()): Packet {
  const packet = publishPacket(`devices/${deviceId}/alarms`, JSON.stringify({ kind: 'fall', id }));
  return { ...packet, qos: 1, messageId };
}

function isAlarm(packet: Packet, id: string): boolean {
  return packet.cmd === 'publish' && String(packet.payload).includes(id);
}
