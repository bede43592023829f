import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mqtt, { type IClientOptions, type IConnackPacket } from 'mqtt';
import { afterEach, expect, it } from 'vitest';
import { UpstreamSubscriber } from './clients/upstream-subscriber.js';
import { Authority } from './servers/certificates.js';
import { CutProxy } from './servers/cut-proxy.js';
import { Mosquitto, type MosquittoOptions } from './servers/mosquitto.js';

// A harness that breaks nothing proves nothing: these tests cover what the tests of bridges rely on.

const cleanups: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function started(options?: MosquittoOptions): Promise<Mosquitto> {
  const mosquitto = await Mosquitto.start(options);
  cleanups.push(() => mosquitto.remove());
  return mosquitto;
}

async function connected(url: string, options: IClientOptions = {}) {
  const client = await mqtt.connectAsync(url, { reconnectPeriod: 0, ...options });
  client.on('error', () => undefined);
  cleanups.push(() => client.endAsync(true));
  return client;
}

async function subscriberAt(url: string, options?: IClientOptions): Promise<UpstreamSubscriber> {
  const subscriber = await UpstreamSubscriber.connect(url, options);
  cleanups.push(() => subscriber.end());
  return subscriber;
}

it('an upstream restarts on its port with its subscriber after a kill', async () => {
  const mosquitto = await started();
  const subscriber = await subscriberAt(mosquitto.url);
  await mosquitto.save();
  for (const text of ['one', 'two', 'three']) {
    const client = await connected(mosquitto.url);
    await client.publishAsync('a', text, { qos: 1 });
    await subscriber.caughtUp();
    await mosquitto.kill();
    await mosquitto.start();
  }
  await subscriber.caughtUp();
  expect([...new Set(subscriber.arrivals.map(({ text }) => text))]).toEqual([
    'one',
    'two',
    'three',
  ]);
});

it('a frozen upstream answers nothing, and everything once it thaws', async () => {
  const mosquitto = await started();
  const client = await connected(mosquitto.url);
  mosquitto.freeze();
  let isAnswered = false;
  const publishing = client.publishAsync('a', 'text', { qos: 1 }).then(() => {
    isAnswered = true;
  });
  await expect(connected(mosquitto.url, { connectTimeout: 300 })).rejects.toThrow();
  expect(isAnswered).toBe(false);
  mosquitto.thaw();
  await publishing;
});

it('passwords can be changed while it runs', async () => {
  const mosquitto = await started({ users: { gateway: 'old' } });
  const login = { username: 'gateway', password: 'new' };
  await expect(connected(mosquitto.url, login)).rejects.toThrow(/Not authorized/);
  await mosquitto.setUsers({ gateway: 'new' });
  await connected(mosquitto.url, login);
});

it('an ACL, a size limit and TLS with client certificates work', async () => {
  const mosquitto = await started({
    acl: ['topic readwrite allowed/#'],
    tls: { name: 'IP:127.0.0.1', requiresClientCertificate: true },
    settings: { max_packet_size: 100 },
  });
  const { certFile, keyFile } = await mosquitto.authority.client('gateway');

  const ca = await readFile(mosquitto.authority.certFile);
  await expect(connected(mosquitto.url, { ca })).rejects.toThrow();
  const tls = { ca, cert: await readFile(certFile), key: await readFile(keyFile) };
  const client = mqtt.connect(mosquitto.url, { ...tls, protocolVersion: 5, reconnectPeriod: 0 });
  cleanups.push(() => client.endAsync(true));
  const admitted = await new Promise<IConnackPacket>((resolve) => client.once('connect', resolve));
  expect(admitted.properties?.maximumPacketSize).toBe(100);
  await client.publishAsync('allowed/a', 'text', { qos: 1 });
  await expect(client.publishAsync('other', 'text', { qos: 1 })).rejects.toMatchObject({
    code: 135,
  });
});

it('certificates of another authority are not trusted by clients of this one', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'gateway-authority-'));
  cleanups.push(() => rm(directory, { recursive: true }));
  const mosquitto = await started({ tls: { name: 'IP:127.0.0.1' } });

  const foreign = await Authority.create(directory);
  const ca = await readFile(foreign.certFile);
  await expect(connected(mosquitto.url, { ca })).rejects.toThrow(/certificate/);
});

it('a proxy passes, swallows in each direction, resets, refuses, and counts', async () => {
  const mosquitto = await started();
  const proxy = await CutProxy.start(mosquitto);
  cleanups.push(() => proxy.close());
  const url = mosquitto.urlAt('127.0.0.1', proxy.port);
  const subscriber = await subscriberAt(mosquitto.url);
  const publish = async (text: string) => {
    const client = await connected(url);
    let isAcknowledged = false;
    client.publishAsync('a', text, { qos: 1 }).then(
      () => {
        isAcknowledged = true;
      },
      () => undefined,
    );
    return { client, isAcknowledged: () => isAcknowledged };
  };
  const passed = await publish('passed');
  await expect.poll(passed.isAcknowledged).toBe(true);

  proxy.swallow('down');
  const { client } = passed;
  client.publish('a', 'down', { qos: 1 });
  await subscriber.arrival(({ text }) => text === 'down');

  proxy.swallow('up');
  client.publish('a', 'up', { qos: 1 });
  await subscriber.caughtUp();
  expect(subscriber.arrivals.map(({ text }) => text)).toEqual(['passed', 'down']);
  expect(client.connected).toBe(true);
  expect([proxy.attempts, proxy.open]).toEqual([1, 1]);

  proxy.pass();
  const other = await publish('again');
  await expect.poll(other.isAcknowledged).toBe(true);
  expect(client.connected).toBe(true);
  proxy.reset();
  await proxy.untilClosed();
  proxy.refuse();
  await expect(connected(url)).rejects.toThrow();
  expect(proxy.attempts).toBe(3);
});
