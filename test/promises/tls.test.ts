/** The encrypted listeners: what they serve, which handshakes they accept, and how a certificate is renewed. */
import { once } from 'node:events';
import { readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import mqtt from 'mqtt';
import { Authority, type Certificate } from '../harness/certificates.js';
import {
  ask,
  Client,
  connectPacket,
  expect,
  type Gateway,
  type Home,
  OUTER_ADDRESSES,
  type Own,
  testWith,
} from '../harness/index.js';

/** A certificate for localhost that is its own authority. */
const CERTIFICATE = 'test/harness/tls/localhost.crt';
const ca = readFileSync(CERTIFICATE);
const LISTENERS = ['mqtts', 'https'] as const;
type Listener = (typeof LISTENERS)[number];
const PORTS = {
  GATEWAY_TLS_HOST: '127.0.0.1',
  GATEWAY_MQTT_TLS_PORT: '0',
  GATEWAY_HTTP_TLS_PORT: '0',
};

const ENV = {
  ...PORTS,
  GATEWAY_LOG_LEVEL: 'debug',
  GATEWAY_TLS_CERT_FILE: CERTIFICATE,
  GATEWAY_TLS_KEY_FILE: 'test/harness/tls/localhost.key',
  GATEWAY_HTTP_PUBLIC_URL: 'https://localhost',
};

const test = testWith({ env: ENV });

const portOf = ({ addresses }: Gateway, listener: Listener) => addresses[listener]?.port ?? 0;

async function secured(
  gateway: Gateway,
  listener: Listener,
  options: ConnectionOptions = {},
): Promise<TLSSocket> {
  const socket = connectTls({ ca, host: 'localhost', port: portOf(gateway, listener), ...options });
  await once(socket, 'secureConnect');
  return socket;
}

for (const [protocol, listener, path] of [
  ['mqtts', 'mqtts', ''],
  ['wss', 'https', '/mqtt'],
] as const) {
  test(`an alarm comes over ${protocol}`, async ({ gateway, home }) => {
    const device = await home.device();
    const nurse = await home.nurse();
    const { id: username, secret: password } = device;
    const url = `${protocol}://localhost:${portOf(gateway, listener)}${path}`;
    const sensor = await mqtt.connectAsync(url, { ca, username, password, reconnectPeriod: 0 });
    const connections = async () => (await home.must('GET', '/connections')).list('connections');
    const own = { principal: { type: 'device', id: device.id }, protocol };
    await expect.poll(connections).toContainEqual(expect.objectContaining(own));
    await sensor.publishAsync(`devices/${device.id}/alarms`, '{"kind":"fall"}', { qos: 1 });
    await nurse.untilCount(1);
    expect(nurse.messages()).toMatchObject([{ kind: 'fall', device: { id: device.id } }]);
    await sensor.endAsync();
  });
}

test('a CONNECT with a client id that is too long is answered over mqtts, too', async ({
  gateway,
}) => {
  const client = new Client(await secured(gateway, 'mqtts'));
  client.send(connectPacket({ clientId: 'x'.repeat(257) }));
  expect((await client.next('connack')).returnCode).toBe(2);
  await client.closed();
});

test.for(OUTER_ADDRESSES)(
  'an address has one rate for all connections over TLS and MQTT: what comes faster is closed unanswered',
  async (host, { own }) => {
    const env = {
      ...ENV,
      GATEWAY_TLS_HOST: '0.0.0.0',
      GATEWAY_LIMITS_CONNECTIONS_PER_SECOND: '1',
      GATEWAY_LIMITS_CONNECTION_BURST: '2',
    };
    const gateway = await own.gateway({ env, hasStoppedClock: true });
    const from = { host, localAddress: host, servername: 'localhost' };
    const open = [await secured(gateway, 'https', from), await secured(gateway, 'mqtts', from)];
    for (const listener of LISTENERS) {
      await expect(secured(gateway, listener, from)).rejects.toThrow();
      // Loopback has no such limit.
      open.push(await secured(gateway, listener));
    }
    await gateway.logged('connecting too fast over TLS', 0);
    await gateway.clock.advance(1_000);
    open.push(await secured(gateway, 'https', from));
    await expect(secured(gateway, 'https', from)).rejects.toThrow();
    for (const socket of open) socket.destroy();
  },
);

/** Connects without TLS, and resolves when the gateway has hung up. */
async function plain(gateway: Gateway, listener: Listener): Promise<void> {
  const socket = connect({ host: '127.0.0.1', port: portOf(gateway, listener) });
  socket.end('GET / HTTP/1.1\r\n\r\n');
  socket.resume();
  await once(socket, 'close');
}

test('failed handshakes of an address are logged once, the others at debug level, and disturb nobody', async ({
  gateway,
  home,
}) => {
  const from = gateway.lines.length;
  const failures = () => gateway.lines.slice(from).filter((line) => line.includes('TLS'));
  for (let attempt = 0; attempt < 40; attempt++) {
    for (const listener of LISTENERS) await plain(gateway, listener);
  }
  await expect.poll(() => failures().length).toBe(80);
  const [first, ...others] = failures().map((line) => JSON.parse(line));
  const reason = { msg: 'TLS handshake failed', address: '127.0.0.1', reason: 'http request' };
  expect(first).toMatchObject(reason);
  expect(others.filter(({ level }) => level === 30).length).toBeLessThanOrEqual(1);
  const device = await home.device();
  const url = `mqtts://localhost:${portOf(gateway, 'mqtts')}`;
  await expect(mqtt.connectAsync(url, { reconnectPeriod: 0 })).rejects.toThrow(/self-signed/);
  await home.publish(device, 'alarms', '{"kind":"fall"}');
});

// Level 0 has the client offer what OpenSSL no longer offers by default.
const only = (ciphers: string): ConnectionOptions => ({
  maxVersion: 'TLSv1.2',
  ciphers: `${ciphers}:@SECLEVEL=0`,
});
/** What a client offers, and what the handshake ends with. */
const HANDSHAKES: readonly (readonly [string, ConnectionOptions, string])[] = [
  ['anything', {}, 'TLSv1.3 TLS_AES_128_GCM_SHA256'],
  ['TLS 1.2', { maxVersion: 'TLSv1.2' }, 'TLSv1.2 ECDHE-ECDSA-AES128-GCM-SHA256'],
  ['only CBC', only('ECDHE-ECDSA-AES128-SHA256'), 'nothing'],
  ['only CBC with SHA-1', only('ECDHE-ECDSA-AES128-SHA'), 'nothing'],
  ['only CCM with a short tag', only('ECDHE-ECDSA-AES128-CCM8'), 'nothing'],
  [
    'TLS 1.1',
    { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' },
    'nothing',
  ],
];

for (const listener of LISTENERS) {
  for (const [offered, options, expected] of HANDSHAKES) {
    test(`${listener} makes of a handshake with ${offered}: ${expected}`, async ({ gateway }) => {
      const ended = await secured(gateway, listener, options).then(
        (socket) => {
          const made = `${socket.getProtocol()} ${socket.getCipher().name}`;
          socket.destroy();
          return made;
        },
        () => 'nothing',
      );
      expect(ended).toBe(expected);
    });
  }

  test(`${listener} shortens the handshake of a client that returns with a ticket`, async ({
    gateway,
  }) => {
    const first = connectTls({ ca, host: 'localhost', port: portOf(gateway, listener) });
    const [session]: Buffer[] = await once(first, 'session');
    first.destroy();
    const second = await secured(gateway, listener, { session });
    expect(second.isSessionReused()).toBe(true);
    second.destroy();
  });
}

/** A home in a gateway whose certificate is renewed as renewers do it: by moving links. */
class Renewal {
  readonly home: Home;
  readonly #authority: Authority;
  readonly #files: readonly [string, string];

  private constructor(home: Home, authority: Authority, files: readonly [string, string]) {
    this.home = home;
    this.#authority = authority;
    this.#files = files;
  }

  static async start(own: Own, days?: number): Promise<Renewal> {
    const directory = own.directory();
    const authority = await Authority.create(directory);
    const files = [join(directory, 'live.crt'), join(directory, 'live.key')] as const;
    link(files, await authority.server('DNS:localhost', days, 'first'));
    const [certFile, keyFile] = files;
    const env = { ...PORTS, GATEWAY_TLS_CERT_FILE: certFile, GATEWAY_TLS_KEY_FILE: keyFile };
    // It looks at the files every two seconds.
    return new Renewal(await own.home({ env, isHurried: true }), authority, files);
  }

  get ca(): Buffer {
    return readFileSync(this.#authority.certFile);
  }

  issue(name: string): Promise<Certificate> {
    return this.#authority.server('DNS:localhost', 60, name);
  }

  present(certificate: Certificate): void {
    link(this.#files, certificate);
  }

  /** The serial number of the certificate that a new connection gets. */
  async shown(listener: Listener): Promise<string> {
    const socket = await secured(this.home.gateway, listener, { rejectUnauthorized: false });
    const { serialNumber } = socket.getPeerCertificate();
    socket.destroy();
    return serialNumber;
  }

  faults(): Promise<readonly string[]> {
    return this.home.faults();
  }
}

function link(files: readonly [string, string], to: Certificate): void {
  for (const [file, target] of [
    [files[0], to.certFile],
    [files[1], to.keyFile],
  ] as const) {
    symlinkSync(target, `${file}.new`);
    renameSync(`${file}.new`, file);
  }
}

test('new connections get a renewed certificate, by itself or on SIGHUP, and no other is cut', async ({
  own,
}) => {
  const renewal = await Renewal.start(own);
  const { home } = renewal;
  const device = await home.device();
  const nurse = await home.nurse();
  const sensor = await mqtt.connectAsync(`mqtts://localhost:${portOf(home.gateway, 'mqtts')}`, {
    username: device.id,
    password: device.secret,
    reconnectPeriod: 0,
    ca: renewal.ca,
  });
  const first = await renewal.shown('mqtts');
  expect(await renewal.shown('https')).toBe(first);
  renewal.present(await renewal.issue('second'));
  await expect.poll(() => renewal.shown('mqtts')).not.toBe(first);
  const second = await renewal.shown('mqtts');
  expect(await renewal.shown('https')).toBe(second);
  renewal.present(await renewal.issue('third'));
  await home.gateway.reload();
  expect(await renewal.shown('mqtts')).not.toBe(second);
  expect(await renewal.faults()).toEqual([]);
  await sensor.publishAsync(`devices/${device.id}/alarms`, '{"kind":"fall"}', { qos: 1 });
  await nurse.untilCount(1);
  await sensor.endAsync();
});

test('the old certificate stays while the new files are unusable, and a fault says why', async ({
  own,
}) => {
  const renewal = await Renewal.start(own, 60);
  const before = await renewal.shown('https');
  const stays = async (reason: string) => {
    const fault = `The new TLS certificate or its key cannot be used (${reason}): the old one stays.`;
    await expect.poll(() => renewal.faults()).toEqual([fault]);
    expect(await renewal.shown('https')).toBe(before);
  };
  const [second, third] = [await renewal.issue('second'), await renewal.issue('third')];
  const whole = readFileSync(second.certFile);
  writeFileSync(second.certFile, whole.subarray(0, whole.length / 2));
  renewal.present(second);
  await stays('not PEM, or not a matching pair');
  rmSync(second.certFile);
  await stays('ENOENT');
  renewal.present({ ...second, certFile: third.certFile });
  await stays('not PEM, or not a matching pair');
  renewal.present(third);
  await expect.poll(() => renewal.faults()).toEqual([]);
  expect(await renewal.shown('https')).not.toBe(before);
});

test('a fault warns from 30 days before a certificate expires; one that has expired is served', async ({
  own,
}) => {
  const renewal = await Renewal.start(own, 60);
  const { gateway } = renewal.home;
  const day = 24 * 3_600_000;
  const { text } = await ask(gateway, 'GET', '/metrics');
  const [, seconds] = /^gateway_certificate_expires_timestamp_seconds (.*)$/m.exec(text) ?? [];
  expect(Number(seconds) * 1_000).toBeGreaterThan(Date.now() + 59 * day);
  const ofCertificate = async () =>
    (await renewal.faults()).filter((fault) => fault.includes('certificate'));
  expect(await ofCertificate()).toEqual([]);
  await gateway.clock.jump(48 * day);
  await expect.poll(ofCertificate).toEqual(['The TLS certificate expires in 12 days.']);
  await gateway.clock.jump(13 * day);
  await expect.poll(ofCertificate).toEqual(['The TLS certificate has expired.']);
  expect(await renewal.shown('mqtts')).toMatch(/./);
  const expired = await Renewal.start(own, -1);
  expect(await expired.faults()).toEqual(['The TLS certificate has expired.']);
  expect((await expired.home.ask('GET', '/readyz')).status).toBe(200);
});
