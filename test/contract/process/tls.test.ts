import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request as requestPlain } from 'node:http';
import { request } from 'node:https';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import mqtt from 'mqtt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectPacket, RawClient } from '../../former/clients/raw-client.js';
import { Home } from '../../former/home.js';

/** A certificate for localhost that is its own authority. */
const CERTIFICATE = 'test/harness/tls/localhost.crt';
const ca = readFileSync(CERTIFICATE);
let home: Home;

beforeAll(async () => {
  home = await Home.start({
    GATEWAY_LOG_LEVEL: 'debug',
    GATEWAY_TLS_HOST: '127.0.0.1',
    GATEWAY_TLS_CERT_FILE: CERTIFICATE,
    GATEWAY_TLS_KEY_FILE: 'test/harness/tls/localhost.key',
    GATEWAY_MQTT_TLS_PORT: '0',
    GATEWAY_HTTP_TLS_PORT: '0',
    GATEWAY_HTTP_PUBLIC_URL: 'https://localhost',
  });
});

afterAll(() => home.remove());

function portOf(listener: 'mqtts' | 'https'): number {
  return home.gateway.addresses[listener]?.port ?? 0;
}

it('serves the interface over HTTPS', async () => {
  const body = await new Promise((resolve, reject) => {
    const options = { ca, host: 'localhost', port: portOf('https'), path: '/healthz' };
    request(options, (answer) => resolve(text(answer)))
      .on('error', reject)
      .end();
  });
  expect(body).toBe('{"status":"ok"}');
});

it.each([
  ['mqtts', () => `mqtts://localhost:${portOf('mqtts')}`],
  ['wss', () => `wss://localhost:${portOf('https')}/mqtt`],
])('receives an alarm over %s', async (name, url) => {
  const device = await home.device();
  const nurse = await home.nurse(device, 'alarms/#');
  const { id: username, secret: password } = device;
  const sensor = await mqtt.connectAsync(url(), { ca, username, password, reconnectPeriod: 0 });
  await expect
    .poll(() => home.api.json('GET', '/connections'))
    .toMatchObject({
      connections: expect.arrayContaining([
        expect.objectContaining({ principal: { type: 'device', id: device.id }, protocol: name }),
      ]),
    });
  await sensor.publishAsync(`devices/${device.id}/alarms`, '{"kind":"fall"}', { qos: 1 });
  await nurse.untilCount(1);
  expect(nurse.messages()).toMatchObject([{ kind: 'fall', device: { id: device.id } }]);
  await Promise.all([sensor.endAsync(), nurse.end()]);
});

it('a CONNECT that is refused before it reaches Aedes is answered over mqtts, too', async () => {
  const socket = connectTls({ ca, host: 'localhost', port: portOf('mqtts') });
  const client = new RawClient(socket);
  await once(socket, 'secureConnect');
  client.send(connectPacket({ clientId: 'x'.repeat(257) }));
  expect((await client.next('connack')).returnCode).toBe(2);
  await client.closed();
});

it.each(['mqtts', 'https'] as const)(
  'logs the address of a client that does not speak TLS: %s',
  async (listener) => {
    const from = home.gateway.lines.length;
    const socket = connect({ host: '127.0.0.1', port: portOf(listener) });
    socket.write('GET / HTTP/1.1\r\n\r\n');
    socket.resume();
    await once(socket, 'close');
    const failures = () => home.gateway.lines.slice(from).filter((line) => line.includes('TLS'));
    await expect.poll(() => failures().length).toBe(1);
    expect(JSON.parse(failures()[0] ?? '')).toMatchObject({
      address: '127.0.0.1',
      msg: 'TLS handshake failed',
      reason: 'http request',
    });
  },
);

it('logs many failed handshakes of an address once, and the others at debug level', async () => {
  const from = home.gateway.lines.length;
  for (let attempt = 0; attempt < 80; attempt++) {
    const socket = connect({ host: '127.0.0.1', port: portOf('mqtts') });
    socket.end('no TLS');
    socket.resume();
    await once(socket, 'close');
  }
  const failures = () => home.gateway.lines.slice(from).filter((line) => line.includes('TLS'));
  await expect.poll(() => failures().length).toBe(80);
  const ofInfo = failures().filter((line) => line.includes('"level":30'));
  expect(ofInfo.length).toBeLessThanOrEqual(1);
});

it('serves others when a client does not trust the certificate', async () => {
  const device = await home.device();
  const stranger = mqtt.connectAsync(`mqtts://localhost:${portOf('mqtts')}`, {
    username: device.id,
    password: device.secret,
    reconnectPeriod: 0,
  });
  await expect(stranger).rejects.toThrow(/self-signed certificate/);
  await home.publishLast(device, 'alarms', '{"kind":"fall"}');
});

/** The version and suite that a handshake ends with; undefined when it fails. */
async function handshake(
  listener: 'mqtts' | 'https',
  options: ConnectionOptions,
): Promise<string | undefined> {
  const socket = connectTls({ ca, host: 'localhost', port: portOf(listener), ...options });
  try {
    await once(socket, 'secureConnect');
    return `${socket.getProtocol()} ${socket.getCipher().name}`;
  } catch {
    return undefined;
  } finally {
    socket.destroy();
  }
}

describe.each(['mqtts', 'https'] as const)('a handshake of %s', (listener) => {
  it('succeeds with TLS 1.3, and with TLS 1.2 where that is forward secret', async () => {
    expect(await handshake(listener, {})).toBe('TLSv1.3 TLS_AES_128_GCM_SHA256');
    const options = { maxVersion: 'TLSv1.2' } as const;
    expect(await handshake(listener, options)).toBe('TLSv1.2 ECDHE-ECDSA-AES128-GCM-SHA256');
  });

  it.each([
    ['CBC', 'ECDHE-ECDSA-AES128-SHA256'],
    ['CBC with SHA-1', 'ECDHE-ECDSA-AES128-SHA'],
    ['CCM with a short tag', 'ECDHE-ECDSA-AES128-CCM8'],
  ])('fails when the client offers only %s', async (_name, ciphers) => {
    // Level 0 has the client offer what OpenSSL no longer offers by default.
    const options = { maxVersion: 'TLSv1.2', ciphers: `${ciphers}:@SECLEVEL=0` } as const;
    expect(await handshake(listener, options)).toBeUndefined();
  });

  it('fails with TLS 1.1', async () => {
    const ciphers = 'ALL:@SECLEVEL=0';
    const options = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers } as const;
    expect(await handshake(listener, options)).toBeUndefined();
  });

  it('is abbreviated for a client that returns with a session ticket', async () => {
    const port = portOf(listener);
    const first = connectTls({ ca, host: 'localhost', port });
    const [session]: Buffer[] = await once(first, 'session');
    first.destroy();
    const second = connectTls({ ca, host: 'localhost', port, session });
    await once(second, 'secureConnect');
    expect(second.isSessionReused()).toBe(true);
    second.destroy();
  });
});

it('answers over HTTPS to a public name make a browser keep to HTTPS for a day, those over HTTP do not', async () => {
  const answered = async (address: string, options: object) =>
    new Promise<string | undefined>((resolve, reject) => {
      const get = address.startsWith('https') ? request : requestPlain;
      get(address, options, (answer) => {
        answer.resume();
        resolve(answer.headers['strict-transport-security']);
      })
        .on('error', reject)
        .end();
    });
  expect(await answered(`https://localhost:${portOf('https')}/healthz`, { ca })).toBe(
    'max-age=86400',
  );
  expect(await answered(`${home.gateway.httpUrl}/healthz`, {})).toBeUndefined();
});
