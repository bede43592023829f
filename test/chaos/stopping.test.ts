import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import mqtt from 'mqtt';
import { afterEach, describe, expect, it } from 'vitest';
import type { TestDevice } from '../harness/api.js';
import { GatewayProcess } from '../harness/gateway-process.js';
import { Home } from '../harness/home.js';
import { Subscriber } from '../harness/mqtt-clients.js';
import { publishPacket, RawClient } from '../harness/raw-client.js';
import { Store } from '../harness/store.js';
import { storeProcessId } from '../harness/store-process.js';
import { eventually, OwnRedis } from './faults.js';
import { holdStoreDown } from './victim.js';

/** CONTRACT 1, stop: ten seconds, with room for a machine that is busy. */
const STOPPED_WITHIN_MS = 8_000;

/** Less than an HTTP request in hand may take. */
const AT_ONCE_MS = 2_000;

/** Clean-ups, undone from the last one on. */
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function homeOf(environment?: Record<string, string>): Promise<Home<GatewayProcess>> {
  const gateway = await GatewayProcess.start(environment);
  cleanups.push(() => gateway.remove());
  return Home.at(gateway);
}

function alarmOf(device: TestDevice, id: string, messageId: number) {
  const alarm = publishPacket(`devices/${device.id}/alarms`, JSON.stringify({ kind: 'fall', id }));
  return { ...alarm, qos: 1 as const, messageId };
}

/** A device with one acknowledged alarm. */
async function deviceOf(
  home: Home<GatewayProcess>,
): Promise<{ device: TestDevice; ids: string[] }> {
  const device = await home.device();
  const sensor = await RawClient.connect(home.gateway, device);
  const id = randomUUID();
  sensor.send(alarmOf(device, id, 1));
  await sensor.next('puback');
  sensor.vanish();
  return { device, ids: [id] };
}

/** A subscriber whose cursor must be saved at the end. */
async function durableNurse(home: Home<GatewayProcess>, device: TestDevice): Promise<Subscriber> {
  const session = { clientId: 'durable', clean: false };
  const nurse = await Subscriber.connect(home.gateway, home.viewer, session);
  return nurse.subscribe(home.filter(device, 'alarms/#'));
}

/** Brings in an alarm that is live and not stored. */
async function alarmInHand(
  home: Home<GatewayProcess>,
  device: TestDevice,
  nurse: Subscriber,
): Promise<void> {
  const sensor = await RawClient.connect(home.gateway, device);
  sensor.send(alarmOf(device, randomUUID(), 2));
  await nurse.untilCount(1);
  expect(sensor.packets.map(({ cmd }) => cmd)).toEqual(['connack']);
}

async function endsInTime({ gateway }: Home<GatewayProcess>): Promise<void> {
  const startedAt = performance.now();
  expect(await gateway.stop()).toBe(0);
  expect(performance.now() - startedAt).toBeLessThan(STOPPED_WITHIN_MS);
}

/**
 * Checks that acknowledged alarms are there, and that the unstored one is taken when sent again.
 */
async function nothingIsLost(
  home: Home<GatewayProcess>,
  device: TestDevice,
  ids: string[],
): Promise<void> {
  const sensor = await RawClient.connect(home.gateway, device);
  const inHand = randomUUID();
  sensor.send(alarmOf(device, inHand, 3));
  await sensor.next('puback');
  const { events } = await home.api.alarms(device, '?order=asc');
  expect(events.map(({ id }) => id)).toEqual([...ids, inHand]);
  sensor.vanish();
}

describe('SIGTERM, with an unstored alarm,', () => {
  it('ends the gateway with 0 while its own store is frozen, and logs what is given up', async () => {
    const home = await homeOf();
    const { device, ids } = await deviceOf(home);
    const nurse = await durableNurse(home, device);
    const store = await Store.of(home.gateway);
    cleanups.push(() => store.close());
    store.freeze();
    await alarmInHand(home, device, nurse);
    await endsInTime(home);
    const log = home.gateway.lines.join('\n');
    expect(log).toContain('giving up unstored messages; none of them was acknowledged');
    expect(home.gateway.lines.at(-1)).toContain('"msg":"gateway stopped"');
    expect(storeProcessId(home.gateway.dataDir)).toBeUndefined();
    await home.gateway.start();
    await nothingIsLost(home, device, ids);
  });

  it('ends the gateway with 0 while its own store cannot be restarted', async () => {
    const home = await homeOf();
    const { device, ids } = await deviceOf(home);
    const nurse = await durableNurse(home, device);
    const lock = holdStoreDown(home.gateway);
    await alarmInHand(home, device, nurse);
    await endsInTime(home);
    closeSync(lock);
    await home.gateway.start();
    await nothingIsLost(home, device, ids);
  });

  it.each([
    ['frozen', (redis: OwnRedis) => redis.freeze()],
    ['gone', (redis: OwnRedis) => redis.kill()],
  ] as const)('ends it with 0 while the server of redis.url is %s', async (_how, disturb) => {
    const redis = await OwnRedis.create();
    cleanups.push(() => redis.remove());
    await redis.start();
    const home = await homeOf({ GATEWAY_REDIS_URL: redis.url });
    const { device, ids } = await deviceOf(home);
    const nurse = await durableNurse(home, device);
    await disturb(redis);
    await alarmInHand(home, device, nurse);
    await endsInTime(home);
    // The thawed store takes the commands sent before, of a gateway that has ended.
    await redis.kill();
    await redis.start();
    await home.gateway.start();
    await nothingIsLost(home, device, ids);
  });
});

describe('SIGTERM, with an unsaved cursor,', () => {
  it('ends the gateway with 0; acknowledged alarms may be repeated', async () => {
    const home = await homeOf();
    const { device, ids } = await deviceOf(home);
    const session = { clientId: 'durable', clean: false };
    const nurse = await RawClient.connect(home.gateway, home.viewer, session);
    await nurse.subscribe([home.filter(device, 'alarms/#')]);
    const sensor = await RawClient.connect(home.gateway, device);
    for (const messageId of [2, 3]) {
      const id = randomUUID();
      ids.push(id);
      sensor.send(alarmOf(device, id, messageId));
      await sensor.next('puback');
    }
    const first = await nurse.next('publish');
    const second = await nurse.next('publish');
    const store = await Store.of(home.gateway);
    cleanups.push(() => store.close());
    store.freeze();
    for (const { messageId = 0 } of [first, second]) nurse.send({ cmd: 'puback', messageId });
    await nurse.ping();
    await endsInTime(home);

    await home.gateway.start();
    const back = await Subscriber.connect(home.gateway, home.viewer, session);
    cleanups.push(() => back.end());
    await eventually(() => expect(back.messages().map(({ id }) => id)).toEqual(ids.slice(1)));
    await nothingIsLost(home, device, ids);
  });
});

it('SIGTERM ends the gateway at once while clients are connected, and nothing is in hand', async () => {
  const certificate = 'test/harness/tls/localhost.crt';
  const home = await homeOf({
    GATEWAY_TLS_HOST: '127.0.0.1',
    GATEWAY_TLS_CERT_FILE: certificate,
    GATEWAY_TLS_KEY_FILE: 'test/harness/tls/localhost.key',
    GATEWAY_MQTT_TLS_PORT: '0',
    GATEWAY_HTTP_TLS_PORT: '0',
  });
  const { id: username, secret: password } = await home.device();
  const { http, mqtts, https } = home.gateway.addresses;
  for (const url of [`mqtts://localhost:${mqtts?.port}`, `wss://localhost:${https?.port}/mqtt`]) {
    const options = { ca: readFileSync(certificate), username, password, reconnectPeriod: 0 };
    await mqtt.connectAsync(url, options);
  }
  for (const listener of [http, mqtts, https]) {
    const silent = connect({ host: '127.0.0.1', port: listener?.port ?? 0 });
    await once(
      silent.on('error', () => undefined),
      'connect',
    );
  }
  const startedAt = performance.now();
  expect(await home.gateway.stop()).toBe(0);
  expect(performance.now() - startedAt).toBeLessThan(AT_ONCE_MS);
});
