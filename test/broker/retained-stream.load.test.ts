import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import createPersistence from 'aedes-persistence-redis';
import { Redis } from 'ioredis';
import type { MqttClient } from 'mqtt';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connect } from '../former/clients/mqtt-clients.js';
import { publishPacket, RawClient } from '../former/clients/raw-client.js';
import type { GatewayProcess } from '../former/gateway/gateway-process.js';
import { Home } from '../former/home.js';
import { Store } from '../former/stored/store.js';

const MIB = 1024 * 1024;
const [MESSAGES, BYTES] = [10_000, 1_000];
/** All of them take 10 MiB as bytes, and three times that as objects. */
const MAX_GROWTH_BYTES = 16 * MIB;
const WRITTEN_AT_ONCE = 1_000;

let home: Home<GatewayProcess>;

beforeAll(async () => {
  home = await Home.startProcess({
    GATEWAY_LIMITS_DEVICE_RETAINED_TOPICS: String(MESSAGES),
    GATEWAY_LIMITS_DEVICE_RETAINED_BYTES: String(64 * MIB),
  });
  await retain(MESSAGES);
  await home.gateway.stop();
  await home.gateway.start();
});

afterAll(() => home.remove());

/** Stores retained messages of a device directly: the gateway would take half a minute. */
async function retain(count: number): Promise<void> {
  const { id } = await home.device();
  const store = await Store.of(home.gateway);
  const { path } = store.redis.options;
  const conn = new Redis({ ...(path && { path }), keyPrefix: '{site}:broker:' });
  const persistence = createPersistence({ conn });
  const payload = Buffer.from(JSON.stringify({ data: 'x'.repeat(BYTES) }));
  for (let from = 0; from < count; from += WRITTEN_AT_ONCE) {
    await Promise.all(
      Array.from({ length: WRITTEN_AT_ONCE }, (_, n) =>
        persistence.storeRetained({
          cmd: 'publish',
          payload,
          qos: 1,
          retain: true,
          dup: false,
          groupId: null,
          topic: `care-homes/${home.locationId}/devices/${id}/value/${from + n}`,
        }),
      ),
    );
  }
  conn.disconnect();
  store.close();
}

function residentBytes(): number {
  const status = readFileSync(`/proc/${home.gateway.processId}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024;
}

/** A library's client, which keeps nothing of what it receives. */
function reader(): Promise<MqttClient> {
  const { id, token } = home.viewer;
  return connect(home.gateway, { username: id, password: token });
}

/** Subscribes to everything and acknowledges nothing. */
async function lazySubscriber(): Promise<RawClient> {
  const client = await RawClient.connect(home.gateway, home.viewer, { clientId: randomUUID() });
  await client.subscribe(['#']);
  return client;
}

it('a subscriber to everything gets each retained message, while others get alarms', async () => {
  const device = await home.device();
  const nurse = await home.nurse(device, 'alarms/#');
  const sensor = await RawClient.connect(home.gateway, device);
  const all = await reader();
  const topics = new Set<string>();
  let retained = 0;
  all.on('message', (topic, _, packet) => {
    if (!packet.retain) return;
    retained++;
    topics.add(topic);
  });
  await all.subscribeAsync(`care-homes/${home.locationId}/devices/+/value/#`, { qos: 1 });
  let alarmsBetween = 0;
  for (let messageId = 1; topics.size < MESSAGES; messageId++) {
    const alarm = publishPacket(`devices/${device.id}/alarms`, '{"kind":"fall"}');
    sensor.send({ ...alarm, qos: 1, messageId });
    await nurse.untilCount(messageId);
    if (topics.size > 0 && topics.size < MESSAGES) alarmsBetween++;
    await delay(10);
  }
  expect(retained).toBe(MESSAGES);
  expect(alarmsBetween).toBeGreaterThan(1);
  sensor.vanish();
  await Promise.all([nurse.end(), all.endAsync()]);
});

it('subscribers to everything that read nothing cost the gateway only what is in flight', async () => {
  // The first one makes the gateway load what it needs.
  (await lazySubscriber()).vanish();
  const before = residentBytes();
  const clients = await Promise.all(Array.from({ length: 20 }, lazySubscriber));
  let most = 0;
  for (let look = 0; look < 10; look++) {
    await delay(100);
    most = Math.max(most, residentBytes());
  }
  for (const client of clients) {
    // No more than may await their acknowledgement.
    expect(client.packets.filter(({ cmd }) => cmd === 'publish').length).toBeLessThanOrEqual(100);
    client.vanish();
  }
  expect(most - before).toBeLessThan(MAX_GROWTH_BYTES);
});

it('a retained message that changes meanwhile arrives last with its newest value', async () => {
  const device = await home.device();
  const sensor = await RawClient.connect(home.gateway, device);
  const publish = (value: number) => sensor.publish(`devices/${device.id}/level`, String(value), 1);
  const send = async (value: number) => {
    const packet = publishPacket(`devices/${device.id}/level`, String(value));
    sensor.send({ ...packet, retain: true, qos: 1, messageId: 1 });
    await sensor.next('puback');
  };
  await send(0);
  const all = await reader();
  const topics = new Set<string>();
  const values: unknown[] = [];
  all.on('message', (topic, payload) => {
    topics.add(topic);
    if (topic.endsWith('/level')) values.push(JSON.parse(payload.toString()).data);
  });
  const subscribed = all.subscribeAsync('#', { qos: 1 });
  for (let value = 1; value <= 50; value++) await send(value);
  await subscribed;
  await expect.poll(() => topics.size).toBeGreaterThanOrEqual(MESSAGES);
  await publish(51);
  await expect.poll(() => values.at(-1)).toBe(51);
  expect(values).toEqual([...values].sort((one, other) => Number(one) - Number(other)));
  sensor.vanish();
  await all.endAsync();
});
