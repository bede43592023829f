import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Api, type TestDevice } from '../../former/clients/api.js';
import { connectPacket, publishPacket, RawClient } from '../../former/clients/raw-client.js';
import { GatewayHere } from '../../former/gateway/gateway-here.js';
import { ADMIN_TOKEN } from '../../former/gateway/running-gateway.js';
import { Home } from '../../former/home.js';

let home: Home;
const OWNER = '127.0.0.1';

beforeAll(async () => {
  home = await Home.start();
});

afterAll(async () => {
  await Promise.all(guesses);
  await home.remove();
});

/** Opens a connection from one of the addresses of this machine. */
async function openFrom(address: string, gateway = home.gateway): Promise<RawClient> {
  const target = { port: gateway.mqttPort, host: '127.0.0.1', localAddress: address };
  const socket = connect(target);
  const client = new RawClient(socket);
  await once(socket, 'connect');
  return client;
}

/** The return code of a login, undefined without an answer, and how long it took. */
async function login(address: string, username: string, secret: string, gateway = home.gateway) {
  return answerTo(await openFrom(address, gateway), username, secret);
}

async function answerTo(client: RawClient, username: string, secret: string) {
  const startedAtMs = performance.now();
  client.send(connectPacket({ username, password: Buffer.from(secret) }));
  const ended = client.closed().then(() => undefined);
  const connack = client.next('connack').then((packet) => packet.returnCode);
  const returnCode = await Promise.race([connack.catch(() => undefined), ended]);
  client.vanish();
  return { returnCode, tookMs: performance.now() - startedAtMs };
}

/** Guesses that continue during the next tests: the last answers take five seconds. */
const guesses: Promise<unknown>[] = [];

/** Makes many wrong guesses together, over connections that are already open. */
async function guessAt(address: string, username: string, count: number) {
  const clients = await Promise.all(Array.from({ length: count }, () => openFrom(address)));
  return Promise.all(clients.map((client) => answerTo(client, username, randomUUID())));
}

/** Starts many guesses; returns a function that tells whether all are answered. */
function guessInBackground(address: string, username: string): () => boolean {
  let areAnswered = false;
  guesses.push(
    guessAt(address, username, 20).then(() => {
      areAnswered = true;
    }),
  );
  return () => areAnswered;
}

const denialsSchema = z.array(z.object({ address: z.string(), code: z.string() }));

/** The number of denials of the address, by code. */
async function denialsOf(address: string): Promise<Record<string, number>> {
  const denied = denialsSchema.parse(await home.api.json('GET', '/connections/denied'));
  const codes = denied.filter((one) => one.address === address).map(({ code }) => code);
  return Object.fromEntries(
    [...new Set(codes)].map((code) => [code, codes.filter((one) => one === code).length]),
  );
}

async function alarmFrom(device: TestDevice, address: string): Promise<void> {
  const sensor = await openFrom(address);
  sensor.send(connectPacket({ username: device.id, password: Buffer.from(device.secret) }));
  expect((await sensor.next('connack')).returnCode).toBe(0);
  const topic = `devices/${device.id}/alarms`;
  const alarm = { ...publishPacket(topic, JSON.stringify({ kind: 'fall' })), qos: 1 as const };
  sensor.send({ ...alarm, messageId: 1 });
  await sensor.next('puback');
  sensor.vanish();
}

describe('S12: guessing', () => {
  it('is slowed down increasingly, even if logins succeed in between', async () => {
    const [own, target, stranger] = [await home.device(), await home.device(), '127.0.12.1'];
    const tookMs: number[] = [];
    for (let guess = 1; guess <= 6; guess++) {
      const answer = await login(stranger, target.id, randomUUID());
      expect(answer.returnCode).toBe(4);
      tookMs.push(answer.tookMs);
      expect((await login(stranger, own.id, own.secret)).returnCode).toBe(0);
    }
    const [fourth = 0, fifth = 0, sixth = 0] = tookMs.slice(3);
    expect(fourth).toBeGreaterThan(200);
    expect(fifth).toBeGreaterThan(450);
    expect(sixth).toBeGreaterThan(950);
  });

  it.concurrent('over many concurrent connections gets few guesses checked, and few answered', async () => {
    const stranger = '127.0.12.2';
    const answers = await guessAt(stranger, 'admin', 60);
    const codes = answers.map(({ returnCode }) => returnCode);
    expect(new Set(codes)).toEqual(new Set([4, undefined]));
    // The free guesses, and then one every half second while the others wait.
    expect(codes.filter((code) => code === 4).length).toBeLessThanOrEqual(20);
    const { 'wrong-password': heard, ...others } = await denialsOf(stranger);
    expect(heard).toBeGreaterThanOrEqual(4);
    // More than four only if the machine is slow: 250 ms allow one more, and each further one takes twice as long.
    expect(heard).toBeLessThanOrEqual(10);
    expect(others).toEqual({ 'too-many-failed-logins': 60 - (heard ?? 0) });
  });

  it.concurrent('the secret for one name from many addresses is checked once from each', async () => {
    const device = await home.device();
    const addresses = Array.from({ length: 15 }, (_, number) => `127.0.13.${number + 1}`);
    await Promise.all(addresses.map((address) => guessAt(address, device.id, 2)));
    const counts = await Promise.all(addresses.map(denialsOf));
    const heard = counts.map((count) => count['wrong-password'] ?? 0);
    const sum = heard.reduce((all, one) => all + one, 0);
    expect(sum).toBeGreaterThanOrEqual(addresses.length);
    expect(sum).toBeLessThanOrEqual(addresses.length + 2);
  });

  it.concurrent('the admin token reveals nothing during the backoff', async () => {
    const stranger = '127.0.12.6';
    guesses.push(guessAt(stranger, 'admin', 20));
    const right = await login(stranger, 'admin', ADMIN_TOKEN);
    expect(right.returnCode).not.toBe(0);
  });

  it.each([
    ['another address', '127.0.12.7', OWNER],
    ['the same address', '127.0.12.3', '127.0.12.3'],
  ])('the secret of a sensor does not stop its alarm from %s', async (_where, ...from) => {
    const [stranger, address] = from;
    const device = await home.device();
    const areAnswered = guessInBackground(stranger, device.id);
    await alarmFrom(device, address);
    expect(areAnswered()).toBe(false);
  });

  it('the admin token does not lock out its owner at another address', async () => {
    const areAnswered = guessInBackground('127.0.12.4', 'admin');
    const answer = await login('127.0.12.5', 'admin', ADMIN_TOKEN);
    expect(answer).toMatchObject({ returnCode: 0 });
    expect(areAnswered()).toBe(false);
  });
});

it('a token typed as the user name is never shown or logged, even if it looks like an id', async () => {
  const secret = randomUUID();
  const gateway = await GatewayHere.start({ GATEWAY_ADMIN_TOKEN: secret });
  const api = new Api(gateway, secret);
  try {
    expect(await login(OWNER, secret, 'admin', gateway)).toMatchObject({ returnCode: 4 });
    await gateway.logged('"msg":"connect error"');
    const recorded = async () => JSON.stringify(await api.json('GET', '/audit'));
    await expect.poll(recorded).toContain('authentication.refused');
    const denied = JSON.stringify(await api.json('GET', '/connections/denied'));
    expect(denied).toContain('unknown-user-name');
    expect(denied + (await recorded()) + gateway.lines.join()).not.toContain(secret);
  } finally {
    await gateway.remove();
  }
});
