/**
 * TLS without anybody's care (contract 6): the gateway's own authority and certificate, devices that log in by a
 * certificate instead of a password, and whom to tell of a vulnerability.
 */
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { join } from 'node:path';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import mqtt from 'mqtt';
import { Authority, type Certificate } from '../harness/certificates.js';
import {
  ask,
  Client,
  describe,
  expect,
  type Gateway,
  type Home,
  type Own,
  type TestDevice,
  test,
  times,
} from '../harness/index.js';

const DAY_MS = 24 * 3_600_000;
const PORTS = {
  GATEWAY_TLS_HOST: '127.0.0.1',
  GATEWAY_MQTT_TLS_PORT: '0',
  GATEWAY_HTTP_TLS_PORT: '0',
};
const SELF_SIGNED = { ...PORTS, GATEWAY_TLS_SELF_SIGNED: 'true' };

const portOf = ({ addresses }: Gateway, listener: 'mqtts' | 'https') =>
  addresses[listener]?.port ?? 0;

/** A TLS connection to the gateway, of which the client checks the certificate. */
async function secured(
  gateway: Gateway,
  options: ConnectionOptions,
  listener: 'mqtts' | 'https' = 'mqtts',
): Promise<TLSSocket> {
  const host = '127.0.0.1';
  const socket = connect({ host, port: portOf(gateway, listener), ...options });
  await once(socket, 'secureConnect');
  return socket;
}

const caOf = async (gateway: Gateway) =>
  (await ask(gateway, 'GET', '/ca.pem', { token: null })).text;

/** The certificate that a client which trusts only `/ca.pem` gets under this name. */
async function shown(gateway: Gateway, servername?: string): Promise<X509Certificate> {
  const ca = await caOf(gateway);
  const socket = await secured(gateway, { ca, ...(servername !== undefined && { servername }) });
  const certificate = socket.getPeerX509Certificate();
  socket.destroy();
  if (certificate === undefined) throw new Error('no certificate was shown');
  return certificate;
}

const days = ({ validFrom, validTo }: X509Certificate) =>
  (Date.parse(validTo) - Date.parse(validFrom)) / DAY_MS;

describe('the certificate that the gateway issues for itself', () => {
  test('is trusted by whoever trusts /ca.pem, under every name of the machine', async ({ own }) => {
    const env = { ...SELF_SIGNED, GATEWAY_HTTP_PUBLIC_URL: 'https://box.example:8443/gateway' };
    const gateway = await own.gateway({ env });
    const name = os.hostname();
    const outer = Object.values(os.networkInterfaces())
      .flatMap((some) => some ?? [])
      .filter(({ internal }) => !internal);
    const names = [name, 'localhost', 'box.example'];
    if (!name.includes('.')) names.push(`${name}.local`);
    const addresses = ['127.0.0.1', '::1', ...outer.map(({ address }) => address)];
    const certificate = await shown(gateway);
    for (const one of names) expect(certificate.checkHost(one), one).toBeDefined();
    for (const one of addresses) expect(certificate.checkIP(one), one).toBeDefined();
    for (const one of names) expect((await shown(gateway, one)).raw).toEqual(certificate.raw);
    expect(certificate.subject).toBe(`CN=${name}`);
    expect(certificate.publicKey.asymmetricKeyDetails).toEqual({ namedCurve: 'prime256v1' });
    expect(days(certificate)).toBe(398);
    const ca = new X509Certificate(await caOf(gateway));
    expect(days(ca)).toBeCloseTo(3_652.5, -1);
    expect([ca.ca, certificate.ca, certificate.checkIssued(ca)]).toEqual([true, false, true]);
    await expect(secured(gateway, {})).rejects.toThrow(/certificate/);
  });

  test('and its authority stay across restarts; keys are for the gateway only, and never sent', async ({
    own,
  }) => {
    const gateway = await own.gateway({ env: SELF_SIGNED });
    const [ca, before] = [await caOf(gateway), await shown(gateway)];
    const directory = join(gateway.dataDir, 'tls');
    const files = readdirSync(directory).sort();
    expect(files).toEqual(['ca.crt', 'ca.key', 'server.pem']);
    for (const file of files) expect(statSync(join(directory, file)).mode & 0o777).toBe(0o600);
    const answer = await ask(gateway, 'GET', '/ca.pem', { token: null });
    expect(answer.headers['content-type']).toBe('application/x-pem-file');
    expect(answer.headers['content-disposition']).toMatch(/^attachment; filename=".+\.pem"$/);
    expect(answer.text).toBe(readFileSync(join(directory, 'ca.crt'), 'utf8'));
    expect(answer.text).not.toContain('PRIVATE');
    expect((await ask(gateway, 'GET', '/', { token: null })).text).toContain('data-ca="ca.pem"');
    await gateway.restart();
    expect(await caOf(gateway)).toBe(ca);
    expect((await shown(gateway)).raw).toEqual(before.raw);
    // Half of a certificate, as after a disk error, is issued anew by the same authority.
    await gateway.stop();
    writeFileSync(join(directory, 'server.pem'), before.toString().slice(0, 300));
    await gateway.start();
    expect((await shown(gateway)).serialNumber).not.toBe(before.serialNumber);
    expect(await caOf(gateway)).toBe(ca);
  });

  test('is renewed 30 days before its end, and cuts none of 200 connections', async ({ own }) => {
    const home = await own.home({ env: SELF_SIGNED, isHurried: true });
    const { gateway } = home;
    const [ca, first] = [await caOf(gateway), await shown(gateway)];
    const connections = await times(200, async () => {
      const client = new Client(await secured(gateway, { ca }));
      expect(await client.login(home.viewer)).toBe(0);
      return client;
    });
    await gateway.clock.jump(366 * DAY_MS);
    expect((await shown(gateway)).serialNumber).toBe(first.serialNumber);
    await gateway.clock.jump(2 * DAY_MS);
    const serial = async () => {
      const socket = await secured(gateway, { rejectUnauthorized: false });
      const { serialNumber } = socket.getPeerCertificate();
      socket.destroy();
      return serialNumber;
    };
    await expect.poll(serial).not.toBe(first.serialNumber);
    expect(await caOf(gateway)).toBe(ca);
    expect((await home.faults()).filter((text) => text.includes('certificate'))).toEqual([]);
    for (const client of connections) await client.ping();
    expect(connections.filter(({ isClosed }) => isClosed)).toEqual([]);
    // A clock that was ahead: clients with the right time must be able to connect.
    await gateway.clock.jump(-368 * DAY_MS);
    await expect.poll(() => shown(gateway).then(() => 'trusted', String)).toBe('trusted');
    // However far off the clock is, the authority stays.
    await gateway.clock.jump(20 * 365 * DAY_MS);
    await gateway.restart();
    expect(await caOf(gateway)).toBe(ca);
    for (const client of connections) await client.closed();
  });

  test('gets the new addresses of the machine', async ({ own }) => {
    const gateway = await own.gateway({ env: SELF_SIGNED, isHurried: true });
    const before = await shown(gateway);
    const present = os.networkInterfaces();
    const use = (interfaces: () => ReturnType<typeof os.networkInterfaces>) => {
      os.networkInterfaces = interfaces;
      syncBuiltinESMExports();
    };
    const original = os.networkInterfaces;
    own.onEnd(() => use(original));
    const address = { address: '192.0.2.7', netmask: '255.255.255.0', mac: '', cidr: null };
    use(() => ({ ...present, new0: [{ ...address, family: 'IPv4', internal: false }] }));
    await expect.poll(async () => (await shown(gateway)).checkIP('192.0.2.7')).toBeDefined();
    use(original);
    await expect.poll(async () => (await shown(gateway)).checkIP('192.0.2.7')).toBeUndefined();
    expect((await shown(gateway)).serialNumber).not.toBe(before.serialNumber);
  });

  test('is not there unless asked for, and /ca.pem is 404', async ({ home }) => {
    expect((await home.ask('GET', '/ca.pem', { token: null })).outcome).toBe('404 not-found');
    expect((await home.ask('GET', '/')).text).toContain('data-ca=""');
  });

  test('does not come from an authority whose key is lost', async ({ own }) => {
    const gateway = await own.gatewayOff({ env: SELF_SIGNED });
    const other = await Authority.create(own.directory());
    mkdirSync(join(gateway.dataDir, 'tls'));
    copyFileSync(other.certFile, join(gateway.dataDir, 'tls', 'ca.crt'));
    writeFileSync(join(gateway.dataDir, 'tls', 'ca.key'), 'damaged');
    await expect(gateway.start()).rejects.toThrow(/certificate authority in .* cannot be used/);
  });
});

/** A home whose gateway takes client certificates of an authority. */
class Certified {
  readonly home: Home;
  readonly authority: Authority;
  readonly #own: Own;

  private constructor(own: Own, home: Home, authority: Authority) {
    this.#own = own;
    this.home = home;
    this.authority = authority;
  }

  static async start(own: Own, env = {}, file?: string): Promise<Certified> {
    const authority = await Authority.create(own.directory());
    const clientCaFile = file ?? authority.certFile;
    if (file !== undefined) copyFileSync(authority.certFile, file);
    const all = { ...SELF_SIGNED, GATEWAY_TLS_CLIENT_CA_FILE: clientCaFile, ...env };
    return new Certified(own, await own.home({ env: all, isHurried: true }), authority);
  }

  /** The code of the CONNACK for a client with this certificate. */
  async login(
    certificate: Certificate | undefined,
    who: { readonly username?: string; readonly password?: string } = {},
  ): Promise<number> {
    const client = new Client(await secured(this.home.gateway, this.options(certificate)));
    this.#own.onEnd(() => client.vanish());
    return client.login(who);
  }

  options(certificate: Certificate | undefined): ConnectionOptions {
    const ca = readFileSync(join(this.home.gateway.dataDir, 'tls', 'ca.crt'));
    if (certificate === undefined) return { ca };
    return {
      ca,
      cert: readFileSync(certificate.certFile),
      key: readFileSync(certificate.keyFile),
    };
  }

  /** Why clients were denied something, the newest first. */
  async reasons(): Promise<readonly unknown[]> {
    const denied = (await this.home.must('GET', '/connections/denied')).list();
    return denied.map(({ code }) => code);
  }

  async reason(): Promise<unknown> {
    return (await this.reasons())[0];
  }
}

const renew = (home: Home, { id }: TestDevice) => home.must('POST', `./devices/${id}/secret`);

describe('a client certificate', () => {
  test('replaces the password of the device that its CN or URI names', async ({ own }) => {
    const certified = await Certified.start(own);
    const { home, authority } = certified;
    const device = await home.device();
    const { id } = device;
    const byName = await authority.client(id);
    expect(await certified.login(byName)).toBe(0);
    expect(await certified.login(byName, { username: id.toUpperCase() })).toBe(0);
    for (const uri of [id, `urn:uuid:${id.toUpperCase()}`]) {
      expect(await certified.login(await authority.client('sensor', uri))).toBe(0);
    }
    // Whoever gives a password, is known by that.
    expect(await certified.login(byName, { username: id, password: 'wrong' })).toBe(4);
    expect(await certified.login(byName, { username: id, password: device.secret })).toBe(0);
    const { id: username, token: password } = home.viewer;
    expect(await certified.login(byName, { username, password })).toBe(0);
    expect(await certified.login(undefined, { username, password })).toBe(0);
    expect(await certified.login(undefined)).toBe(5);
    expect(await certified.reason()).toBe('no-credentials');

    const nurse = await home.nurse();
    for (const url of [
      `mqtts://127.0.0.1:${portOf(home.gateway, 'mqtts')}`,
      `wss://127.0.0.1:${portOf(home.gateway, 'https')}/mqtt`,
    ]) {
      const options = { ...certified.options(byName), reconnectPeriod: 0 };
      const sensor = await mqtt.connectAsync(url, Object(options));
      await sensor.publishAsync(`devices/${id}/alarms`, '{"kind":"fall"}', { qos: 1 });
      await sensor.endAsync();
    }
    await nurse.untilCount(2);
    expect(nurse.messages()).toMatchObject(Array(2).fill({ kind: 'fall', device: { id } }));
  });

  test('of another device, of no device, or of another authority is refused', async ({ own }) => {
    const certified = await Certified.start(own);
    const { home, authority } = certified;
    const [device, other] = [await home.device(), await home.device('Bett 2')];
    const stranger = await Authority.create(own.directory(), 'stranger');
    expect(await certified.login(await stranger.client(device.id))).toBe(5);
    expect(await certified.reason()).toBe('no-credentials');
    const good = await authority.client(device.id);
    const refused = [
      [good, { username: other.id }],
      [good, { username: home.viewer.id }],
      [await authority.client(home.viewer.id), {}],
      [await authority.client('sensor', 'https://a.test/'), {}],
      [await authority.client('sensor', `https://a.test/${device.id}`), {}],
    ] as const;
    for (const [certificate, who] of refused) {
      expect(await certified.login(certificate, who)).toBe(5);
      expect(await certified.reason()).toBe('certificate-refused');
    }
    // Nor does a resumed session prove what the first one did not.
    for (const certificate of [undefined, await stranger.client(device.id)]) {
      const options = { ...certified.options(certificate), servername: 'localhost' };
      const first = connect({ ...options, host: '127.0.0.1', port: portOf(home.gateway, 'mqtts') });
      const [session]: Buffer[] = await once(first, 'session');
      const resumed = await secured(home.gateway, { ...options, session });
      expect(resumed.isSessionReused()).toBe(true);
      expect(await new Client(resumed).login()).toBe(5);
      for (const socket of [first, resumed]) socket.destroy();
    }
  });

  test('ends with a new secret of its device, unless issued later, and with the device', async ({
    own,
  }) => {
    const certified = await Certified.start(own);
    const { home, authority } = certified;
    const device = await home.device();
    const before = await authority.client(device.id, undefined, 'before');
    const open = new Client(await secured(home.gateway, certified.options(before)));
    expect(await open.login()).toBe(0);
    await renew(home, device);
    await open.closed();
    expect(await certified.login(before)).toBe(5);
    expect(await certified.reason()).toBe('certificate-refused');
    // A certificate has the second in which it was issued.
    const next = async () => certified.login(await authority.client(device.id));
    await expect.poll(next).toBe(0);
    await home.gateway.restart();
    expect(await certified.login(before)).toBe(5);
    const after = await authority.client(device.id);
    const last = new Client(await secured(home.gateway, certified.options(after)));
    expect(await last.login()).toBe(0);
    await home.must('DELETE', `./devices/${device.id}`);
    await last.closed();
    expect(await certified.login(after)).toBe(5);
  });

  test('is required by the port of MQTT over TLS alone, if that is configured', async ({ own }) => {
    const env = { GATEWAY_TLS_CLIENT_CERTIFICATES: 'required' };
    const certified = await Certified.start(own, env);
    const { home, authority } = certified;
    const { gateway } = home;
    const device = await home.device();
    const good = await authority.client(device.id);
    const { id: username, secret: password } = device;
    const stranger = await Authority.create(own.directory(), 'stranger');
    for (const certificate of [undefined, await stranger.client(device.id)]) {
      await expect(certified.login(certificate, { username, password })).rejects.toThrow();
    }
    await expect.poll(() => certified.reasons()).toEqual(Array(2).fill('tls-handshake-failed'));
    expect(await certified.login(good)).toBe(0);
    const options = { ...certified.options(undefined), reconnectPeriod: 0, username, password };
    const url = `wss://127.0.0.1:${portOf(gateway, 'https')}/mqtt`;
    const browser = await mqtt.connectAsync(url, Object(options));
    await browser.endAsync();
  });

  test('is of the authority that is in the file now', async ({ own }) => {
    const file = join(own.directory(), 'live.crt');
    const certified = await Certified.start(own, {}, file);
    const { home, authority } = certified;
    const device = await home.device();
    const first = await authority.client(device.id);
    const open = new Client(await secured(home.gateway, certified.options(first)));
    expect(await open.login()).toBe(0);
    const next = await Authority.create(own.directory(), 'next');
    const second = await next.client(device.id);
    const returning = { ...certified.options(first), servername: 'localhost' };
    const place = { host: '127.0.0.1', port: portOf(home.gateway, 'mqtts') };
    const former = connect({ ...returning, ...place });
    const [session]: Buffer[] = await once(former, 'session');
    former.destroy();
    writeFileSync(file, 'damaged');
    await expect.poll(() => home.faults()).toEqual([expect.stringContaining('cannot be used')]);
    expect(await certified.login(first)).toBe(0);
    copyFileSync(next.certFile, file);
    await expect.poll(() => certified.login(second)).toBe(0);
    expect(await certified.login(first)).toBe(5);
    const resumed = await secured(home.gateway, { ...returning, session });
    expect(resumed.isSessionReused()).toBe(false);
    expect(await new Client(resumed).login()).toBe(5);
    resumed.destroy();
    copyFileSync(authority.certFile, file);
    await home.gateway.reload();
    expect(await certified.login(first)).toBe(0);
    expect(await home.faults()).toEqual([]);
    await open.ping();
  });
});

describe('/.well-known/security.txt', () => {
  const PATH = '/.well-known/security.txt';

  test('names the contact, for a year', async ({ own }) => {
    const contact = 'mailto:security@example.org';
    const url = 'https://box.example/gateway';
    const env = { GATEWAY_HTTP_SECURITY_CONTACT: contact, GATEWAY_HTTP_PUBLIC_URL: url };
    const gateway = await own.gateway({ env });
    const { text, headers } = await ask(gateway, 'GET', PATH, { token: null });
    expect(headers['content-type']).toMatch(/^text\/plain; charset=utf-8$/i);
    const [, expires = ''] = /^Expires: (.*)$/m.exec(text) ?? [];
    expect((Date.parse(expires) - Date.now()) / DAY_MS).toBeCloseTo(365, 1);
    expect(text).toBe(`Contact: ${contact}\nExpires: ${expires}\nCanonical: ${url}${PATH}\n`);
  });

  test('is 404 without one', async ({ home }) => {
    expect((await home.ask('GET', PATH, { token: null })).outcome).toBe('404 not-found');
  });
});
