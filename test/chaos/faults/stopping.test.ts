import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import mqtt from 'mqtt';
import { describe, type ExpectStatic, expect, it, type TestContext } from 'vitest';
import type { TestDevice } from '../../former/clients/api.js';
import { Subscriber } from '../../former/clients/mqtt-clients.js';
import { publishPacket, RawClient } from '../../former/clients/raw-client.js';
import { GatewayProcess } from '../../former/gateway/gateway-process.js';
import { Home } from '../../former/home.js';
import { Store } from '../../former/stored/store.js';
import { holdStoreDown, storeProcessId } from '../../former/stored/store-process.js';
import { OwnRedis } from './own-redis.js';

async function homeOf(
  { onTestFinished }: TestContext,
  environment?: Record<string, string>,
): Promise<Home<GatewayProcess>> {
  const gateway = await GatewayProcess.start(environment);
  onTestFinished(() => gateway.remove());
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

/** A subscriber whose cursor the gateway must save at the end. */
async function durableNurse(home: Home<GatewayProcess>, device: TestDevice): Promise<Subscriber> {
  const session = { clientId: 'durable', clean: false };
  const nurse = await Subscriber.connect(home.gateway, home.viewer, session);
  return nurse.subscribe(home.filter(device, 'alarms/#'));
}

/** Sends an alarm that is live and not stored. */
async function alarmInHand(
  home: Home<GatewayProcess>,
  device: TestDevice,
  nurse: Subscriber,
  expect: ExpectStatic,
): Promise<void> {
  const sensor = await RawClient.connect(home.gateway, device);
  sensor.send(alarmOf(device, randomUUID(), 2));
  await nurse.untilCount(1);
  expect(sensor.packets.map(({ cmd }) => cmd)).toEqual(['connack']);
}

/** The gateway itself ends with another status if it has not stopped after ten seconds. */
async function endsInTime({ gateway }: Home<GatewayProcess>, expect: ExpectStatic) {
  expect(await gateway.stop()).toBe(0);
}

/** Checks that acknowledged alarms are there, and that another one is taken. */
async function nothingIsLost(
  home: Home<GatewayProcess>,
  device: TestDevice,
  ids: string[],
  expect: ExpectStatic,
): Promise<void> {
  const sensor = await RawClient.connect(home.gateway, device);
  const inHand = randomUUID();
  sensor.send(alarmOf(device, inHand, 3));
  await sensor.next('puback');
  const { events } = await home.api.alarms(device, '?order=asc');
  expect(events.map(({ id }) => id)).toEqual([...ids, inHand]);
  sensor.vanish();
}

// They all wait for the same time limits, which no test can shorten.
describe.concurrent('SIGTERM, with an unstored alarm,', () => {
  it('and an unsaved cursor, ends the gateway with 0 while its own store is frozen, and logs what is abandoned', async (context) => {
    const { expect } = context;
    const home = await homeOf(context);
    const { device, ids } = await deviceOf(home);
    const session = { clientId: 'durable', clean: false };
    const nurse = await RawClient.connect(home.gateway, home.viewer, session);
    await nurse.subscribe([home.filter(device, 'alarms/#')]);
    const sensor = await RawClient.connect(home.gateway, device);
    const id = randomUUID();
    sensor.send(alarmOf(device, id, 2));
    await sensor.next('puback');
    const { messageId = 0 } = await nurse.next('publish');
    const store = await Store.of(home.gateway);
    context.onTestFinished(() => store.close());
    store.freeze();
    nurse.send({ cmd: 'puback', messageId });
    await nurse.ping();
    sensor.send(alarmOf(device, randomUUID(), 3));
    await nurse.next('publish');
    expect(sensor.packets.filter(({ cmd }) => cmd === 'puback')).toHaveLength(1);
    await endsInTime(home, expect);
    const log = home.gateway.lines.join('\n');
    expect(log).toContain('giving up unstored messages; none of them was acknowledged');
    expect(home.gateway.lines.at(-1)).toContain('"msg":"gateway stopped"');
    expect(storeProcessId(home.gateway.dataDir)).toBeUndefined();

    await home.gateway.start();
    // The acknowledged alarm may come again.
    const back = await Subscriber.connect(home.gateway, home.viewer, session);
    await back.untilCount(1);
    expect(back.messages().map((message) => message['id'])).toEqual([id]);
    await back.end();
    await nothingIsLost(home, device, [...ids, id], expect);
  });

  it('ends the gateway with 0 while its own store cannot be restarted', async (context) => {
    const { expect } = context;
    const home = await homeOf(context);
    const { device, ids } = await deviceOf(home);
    const nurse = await durableNurse(home, device);
    const lock = holdStoreDown(home.gateway);
    await alarmInHand(home, device, nurse, expect);
    await endsInTime(home, expect);
    closeSync(lock);
    await home.gateway.start();
    await nothingIsLost(home, device, ids, expect);
  });

  it('ends it with 0 while the server of redis.url is gone', async (context) => {
    const { expect } = context;
    const redis = await OwnRedis.create();
    context.onTestFinished(() => redis.remove());
    await redis.start();
    const home = await homeOf(context, { GATEWAY_REDIS_URL: redis.url });
    const { device, ids } = await deviceOf(home);
    const nurse = await durableNurse(home, device);
    await redis.kill();
    await alarmInHand(home, device, nurse, expect);
    await endsInTime(home, expect);
    await redis.start();
    await home.gateway.start();
    await nothingIsLost(home, device, ids, expect);
  });
});

it('SIGTERM ends the gateway with 0 while clients are connected, and nothing is pending', async (context) => {
  const certificate = 'test/harness/tls/localhost.crt';
  const home = await homeOf(context, {
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
  expect(await home.gateway.stop()).toBe(0);
});
