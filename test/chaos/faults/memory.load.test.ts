import { readFileSync } from 'node:fs';
import type { IPublishPacket } from 'mqtt-packet';
import { afterEach, expect, it } from 'vitest';
import { times } from '../../former/at-a-time.js';
import type { TestDevice } from '../../former/clients/api.js';
import {
  connectPacket,
  credentials,
  publishPacket,
  RawClient,
} from '../../former/clients/raw-client.js';
import { eventually } from '../../former/eventually.js';
import type { GatewayProcess } from '../../former/gateway/gateway-process.js';
import { Home } from '../../former/home.js';
import { Store } from '../../former/stored/store.js';

const MIB = 1024 * 1024;
/** Memory for unstored publishes of all clients (`broker/budgets/unstored-publishes.ts`). */
const MAX_UNSTORED_BYTES = 64 * MIB;
/** The bounds of values, and of values and alarms together. */
const MAX_UNSTORED_VALUES_BYTES = 2 * MAX_UNSTORED_BYTES;
const MAX_UNSTORED_WITH_ALARMS_BYTES = 3 * MAX_UNSTORED_BYTES;
/** The reserve of each device when others have filled the memory, and one more publish. */
const MAX_RESERVED_BYTES = 3 * 64 * 1024;
const ANY_PUBLISH_BYTES = 8_192;

let home: Home<GatewayProcess>;
let store: Store;

afterEach(async () => {
  store.thaw();
  store.close();
  await home.remove();
});

async function start(environment: Record<string, string> = {}): Promise<void> {
  home = await Home.startProcess(environment);
  store = await Store.of(home.gateway);
}

async function unstoredBytes(): Promise<number> {
  const text = await (await fetch(`${home.gateway.httpUrl}/metrics`)).text();
  return Number(/^gateway_unstored_bytes (\d+)$/m.exec(text)?.[1]);
}

function residentBytes(): number {
  const status = readFileSync(`/proc/${home.gateway.processId}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024;
}

/** Sends like a device: again on one connection after another, until acknowledged. */
async function sendAll(device: TestDevice, client: RawClient, packets: IPublishPacket[]) {
  let waiting = packets;
  for (let connection = client; waiting.length > 0; ) {
    connection.send(...waiting);
    const acknowledged = () => connection.packets.filter(({ cmd }) => cmd === 'puback').length;
    const { length } = waiting;
    await eventually(() => expect(connection.isClosed || acknowledged() === length).toBe(true));
    waiting = waiting.slice(acknowledged()).map((packet) => ({ ...packet, dup: true }));
    if (waiting.length > 0) connection = await RawClient.connect(home.gateway, device);
    else connection.vanish();
  }
}

it('an outage of the store takes bounded memory, and everything is stored afterwards', async () => {
  const [devices, messages, messageBytes] = [12, 25, 200_000];
  await start();
  await home.absent('away');
  const sensors = await Promise.all(
    Array.from({ length: devices }, async () => {
      const device = await home.device();
      return { device, client: await RawClient.connect(home.gateway, device) };
    }),
  );
  store.freeze();
  const payload = JSON.stringify('x'.repeat(messageBytes - 2));
  const sent = sensors.map(({ device, client }) =>
    sendAll(
      device,
      client,
      Array.from({ length: messages }, (_, index) => ({
        ...publishPacket(`devices/${device.id}/dump`, payload),
        qos: 1,
        messageId: index + 1,
      })),
    ),
  );
  let most = 0;
  await eventually(async () => {
    most = Math.max(most, await unstoredBytes());
    expect(most).toBeGreaterThanOrEqual(MAX_UNSTORED_BYTES);
  });
  // Each look waits a second for the store.
  for (let look = 0; look < 3; look++) most = Math.max(most, await unstoredBytes());
  // Each device may have one message that arrived before the bound was reached.
  expect(most).toBeLessThanOrEqual(MAX_UNSTORED_VALUES_BYTES + devices * 6 * messageBytes);

  store.thaw();
  await Promise.all(sent);
  await eventually(async () => expect(await unstoredBytes()).toBe(0));
});

it('hundreds of hostile connections take bounded memory while the store is silent', async () => {
  const [devices, connectionsEach, packetsEach] = [100, 4, 40];
  await start();
  // Without a subscriber, telemetry is not stored and takes no room.
  await home.absent('away');
  const hostile: { device: TestDevice; client: RawClient }[] = [];
  for (const device of await times(devices, () => home.device())) {
    for (let connection = 0; connection < connectionsEach; connection++) {
      const clientId = `hostile-${connection}`;
      hostile.push({ device, client: await RawClient.connect(home.gateway, device, { clientId }) });
    }
  }
  const honest = await home.device();
  const nurse = await home.nurse(honest, 'alarms/#');
  const sensor = await RawClient.connect(home.gateway, honest);
  const before = residentBytes();
  store.freeze();
  let most = 0;
  for (const [index, { device, client }] of hostile.entries()) {
    const topic = `devices/${device.id}`;
    const packets = Array.from({ length: packetsEach }, (_, number) => [
      { ...publishPacket(`${topic}/x`, '1'), qos: 1 as const, messageId: number + 1 },
      { ...publishPacket(`${topic}/x/${number}`, '1'), retain: true },
      publishPacket(`${topic}/alarms`, '{"kind":"noise"}'),
      publishPacket(`${topic}/alarms`, 'x'.repeat(200)),
    ]);
    client.send(...packets.flat());
    if (index % 100 === 99) most = Math.max(most, await unstoredBytes());
  }
  await eventually(async () => {
    most = Math.max(most, await unstoredBytes());
    expect(most).toBeGreaterThan(MAX_UNSTORED_BYTES);
  });
  const alarm = publishPacket(`devices/${honest.id}/alarms`, '{"kind":"fall"}');
  sensor.send({ ...alarm, qos: 1, messageId: 1 });
  await nurse.untilCount(1);
  most = Math.max(most, await unstoredBytes());
  expect(most).toBeLessThanOrEqual(
    MAX_UNSTORED_WITH_ALARMS_BYTES + devices * (MAX_RESERVED_BYTES + ANY_PUBLISH_BYTES),
  );
  // Without the bound it would be 64,000 publishes of 8 KB.
  expect(residentBytes() - before).toBeLessThan(300 * MIB);
  store.thaw();
  await sensor.next('puback');
  for (const { client } of hostile) client.vanish();
  sensor.vanish();
  await nurse.end();
  // The gateway stores 64,000 publishes first.
  await eventually(async () => expect(await unstoredBytes()).toBe(0), 120_000);
});

it('a device that connects repeatedly while the store is silent takes bounded memory', async () => {
  const connections = 1_500;
  // Only the store's silence slows it down.
  await start({ GATEWAY_LIMITS_DEVICE_CONNECT_BURST: String(connections) });
  const [restless, honest] = [await home.device(), await home.device()];
  const nurse = await home.nurse(honest, 'alarms/#');
  const before = residentBytes();
  store.freeze();
  for (let number = 0; number < connections; number++) {
    const client = await RawClient.open(home.gateway);
    client.send(connectPacket({ ...credentials(restless), clientId: 'restless' }));
    expect((await client.next('connack')).returnCode).toBe(0);
    client.vanish();
  }
  expect(residentBytes() - before).toBeLessThan(50 * MIB);

  const sensor = await RawClient.connect(home.gateway, honest);
  const alarm = publishPacket(`devices/${honest.id}/alarms`, '{"kind":"fall"}');
  sensor.send({ ...alarm, qos: 1, messageId: 1 });
  await nurse.untilCount(1);
  store.thaw();
  await sensor.next('puback');
  await eventually(async () => expect(await unstoredBytes()).toBe(0));
  (await RawClient.connect(home.gateway, restless, { clientId: 'restless' })).vanish();
  sensor.vanish();
  await nurse.end();
});
