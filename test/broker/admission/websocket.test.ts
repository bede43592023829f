import { once } from 'node:events';
import { get } from 'node:http';
import { json } from 'node:stream/consumers';
import mqtt from 'mqtt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWebSocketStream, WebSocket } from 'ws';
import type { TestDevice } from '../../former/clients/api.js';
import { connectPacket, credentials, RawClient } from '../../former/clients/raw-client.js';
import { Home } from '../../former/home.js';

let home: Home;
let device: TestDevice;

beforeAll(async () => {
  home = await Home.start();
  device = await home.device();
});

afterAll(() => home.remove());

function url(path: string): string {
  return `${home.gateway.httpUrl.replace('http:', 'ws:')}${path}`;
}

/** The HTTP status of the handshake: 101 when it succeeds. */
async function statusOf(path: string, protocols: string[] = ['mqtt']): Promise<number> {
  const socket = new WebSocket(url(path), protocols);
  return new Promise((resolve, reject) => {
    socket.once('open', () => {
      socket.terminate();
      resolve(101);
    });
    socket.once('unexpected-response', (_request, response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    socket.once('error', reject);
  });
}

async function open(): Promise<{ socket: WebSocket; client: RawClient }> {
  const socket = new WebSocket(url('/mqtt'), ['mqtt']);
  const client = new RawClient(createWebSocketStream(socket));
  await once(socket, 'open');
  return { socket, client };
}

const VERSIONS = [4, 5] as const;

describe('MQTT over WebSocket', () => {
  it.each(VERSIONS)(
    'carries alarms, commands and subscriptions of mqtt.js with version %i',
    async (protocolVersion) => {
      const nurse = await mqtt.connectAsync(url('/mqtt'), {
        protocolVersion,
        reconnectPeriod: 0,
        username: home.viewer.id,
        password: home.viewer.token,
      });
      await nurse.subscribeAsync(home.filter(device, 'alarms/#'), { qos: 1 });
      const topic = new Promise((resolve) => nurse.once('message', resolve));
      const sensor = await mqtt.connectAsync(url('/mqtt'), {
        protocolVersion,
        reconnectPeriod: 0,
        username: device.id,
        password: device.secret,
      });
      await sensor.publishAsync(`devices/${device.id}/alarms`, '{"kind":"fall"}', { qos: 1 });
      expect(await topic).toBe(home.filter(device, 'alarms/fall'));
      await Promise.all([nurse.endAsync(), sensor.endAsync()]);
    },
  );

  it.each([
    [['mqtt'], 'mqtt'],
    [['mqttv3.1'], 'mqttv3.1'],
    [['chat', 'mqttv3.1', 'mqtt'], 'mqtt'],
  ])('offered %j, speaks %s', async (offered, chosen) => {
    const socket = new WebSocket(url('/mqtt'), offered);
    await once(socket, 'open');
    expect(socket.protocol).toBe(chosen);
    socket.terminate();
  });

  it('requires the subprotocol of MQTT', async () => {
    await expect(statusOf('/mqtt', ['chat'])).rejects.toThrow(/subprotocol/);
  });

  it('is served at /mqtt, whatever the query', async () => {
    expect(await statusOf('/mqtt')).toBe(101);
    expect(await statusOf('/mqtt?token=x')).toBe(101);
  });

  it.each(['/mqtt/', '/mqtts', '/MQTT', '/mqtt/x', '//mqtt'])(
    'is not served at %s',
    async (path) => {
      expect(await statusOf(path)).toBe(404);
    },
  );

  it('leaves every other path to the HTTP interface', async () => {
    expect(await statusOf('/')).toBe(200);
    expect(await statusOf('/care-homes')).toBe(401);
    expect(await statusOf('/healthz')).toBe(200);
  });

  it('answers an invalid handshake as the HTTP interface does', async () => {
    const headers = { connection: 'upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' };
    const request = get({ port: home.gateway.addresses.http.port, path: '/mqtt', headers });
    const [response] = await once(request, 'response');
    expect(response.statusCode).toBe(400);
    expect(response.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(await json(response)).toMatchObject({ code: 'invalid-request' });
  });

  it('requires credentials', async () => {
    const { client } = await open();
    client.send(connectPacket({ username: device.id, password: Buffer.from('wrong') }));
    expect((await client.next('connack')).returnCode).toBe(4);
    await client.closed();
  });

  it.each(VERSIONS)(
    'lets mqtt.js %i clear a retained message, with an empty will and an empty client id',
    async (protocolVersion) => {
      const sensor = await mqtt.connectAsync(url('/mqtt'), {
        protocolVersion,
        reconnectPeriod: 0,
        clientId: '',
        username: device.id,
        password: device.secret,
        will: {
          topic: `devices/${device.id}/gone`,
          payload: Buffer.alloc(0),
          qos: 1,
          retain: true,
        },
      });
      await sensor.publishAsync(`devices/${device.id}/mode`, 'on', { qos: 1, retain: true });
      await sensor.publishAsync(`devices/${device.id}/mode`, '', { qos: 1, retain: true });
      const nurse = await home.nurse(device, 'alarms/#');
      await sensor.publishAsync(`devices/${device.id}/alarms`, '{"kind":"fall"}', { qos: 1 });
      await nurse.untilCount(1);
      await Promise.all([nurse.end(), sensor.endAsync()]);
    },
  );

  it('closes when the credential ends', async () => {
    const token = await home.api.viewer(home.locationId);
    const { client } = await open();
    client.send(connectPacket(credentials(token)));
    await client.next('connack');
    await home.api.json('DELETE', `/access-tokens/${token.id}`);
    await client.closed();
  });

  it('announces a device that vanishes as offline', async () => {
    const { client } = await open();
    const nurse = await home.nurse(device, 'status');
    client.send(connectPacket(credentials(device)));
    await nurse.until((received) => received.some(({ text }) => text.includes('"online":true')));
    const soFar = nurse.received.length;
    client.vanish();
    await nurse.until((received) =>
      received.slice(soFar).some(({ text }) => text.includes('"online":false')),
    );
    await nurse.end();
  });
});
