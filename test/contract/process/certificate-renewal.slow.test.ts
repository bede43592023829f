import { once } from 'node:events';
import { mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import mqtt from 'mqtt';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { faultsOf } from '../../former/clients/connection-list.js';
import { GatewayHere } from '../../former/gateway/gateway-here.js';
import { Home } from '../../former/home.js';
import { Authority, type Certificate } from '../../former/servers/certificates.js';

const DAY_MS = 24 * 3_600_000;
/** The gateway checks the files every two seconds, and reads them if they have not changed for two. */
const READ = { timeout: 15_000 };

let directory: string;
let authority: Authority;
let certFile: string;
let keyFile: string;
let home: Home<GatewayHere>;
let aheadMs: number;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'gateway-certificates-'));
  authority = await Authority.create(directory);
  aheadMs = 0;
});

afterEach(async () => {
  await home.remove();
  rmSync(directory, { recursive: true });
});

/** Issues a certificate, and starts a gateway with links to its files. */
async function start(days?: number): Promise<void> {
  const first = await authority.server('DNS:localhost', days, 'first');
  [certFile, keyFile] = [join(directory, 'live.crt'), join(directory, 'live.key')];
  link(first);
  const environment = {
    GATEWAY_TLS_HOST: '127.0.0.1',
    GATEWAY_TLS_CERT_FILE: certFile,
    GATEWAY_TLS_KEY_FILE: keyFile,
    GATEWAY_MQTT_TLS_PORT: '0',
    GATEWAY_HTTP_TLS_PORT: '0',
  };
  const now = () => Date.now() + aheadMs;
  home = await Home.at(await GatewayHere.start(environment, { now }));
}

/** Changes the links, as renewers do. */
function link(to: Certificate): void {
  for (const [file, target] of [
    [certFile, to.certFile],
    [keyFile, to.keyFile],
  ] as const) {
    symlinkSync(target, `${file}.new`);
    renameSync(`${file}.new`, file);
  }
}

/** The serial number of the certificate that a new connection gets. */
async function shown(listener: 'mqtts' | 'https'): Promise<string> {
  const port = home.gateway.addresses[listener]?.port ?? 0;
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { serialNumber } = socket.getPeerCertificate();
  socket.destroy();
  return serialNumber;
}

async function metric(): Promise<number> {
  const text = await (await fetch(`${home.gateway.httpUrl}/metrics`)).text();
  const sample = /^gateway_certificate_expires_timestamp_seconds (.*)$/m.exec(text);
  return Number(sample?.[1]) * 1_000;
}

it('presents a renewed certificate to new connections, and cuts no existing one', async () => {
  await start();
  const device = await home.device();
  const nurse = await home.nurse(device, 'alarms/#');
  const port = home.gateway.addresses.mqtts?.port;
  const sensor = await mqtt.connectAsync(`mqtts://localhost:${port}`, {
    username: device.id,
    password: device.secret,
    reconnectPeriod: 0,
    ca: readFileSync(authority.certFile),
  });
  const before = [await shown('mqtts'), await shown('https')];
  expect(before[0]).toBe(before[1]);
  link(await authority.server('DNS:localhost', 60, 'second'));
  await expect.poll(() => shown('mqtts'), READ).not.toBe(before[0]);
  expect(await shown('https')).toBe(await shown('mqtts'));
  await sensor.publishAsync(`devices/${device.id}/alarms`, '{"kind":"fall"}', { qos: 1 });
  await nurse.untilCount(1);
  await Promise.all([sensor.endAsync(), nurse.end()]);
});

it('reads the files immediately on request', async () => {
  await start();
  const before = await shown('mqtts');
  link(await authority.server('DNS:localhost', 60, 'second'));
  await home.gateway.reload();
  expect(await shown('mqtts')).not.toBe(before);
  expect(await faultsOf(home.gateway)).toEqual([]);
});

it('keeps the old certificate while the new files are unusable, and reports it', async () => {
  await start(60);
  const before = await shown('https');
  const unusable = 'The new TLS certificate or its key cannot be used';
  const stays = async (reason: string) => {
    await expect
      .poll(() => faultsOf(home.gateway), READ)
      .toEqual([`${unusable} (${reason}): the old one stays.`]);
    expect(await shown('https')).toBe(before);
  };
  const second = await authority.server('DNS:localhost', 60, 'second');
  const whole = readFileSync(second.certFile);
  writeFileSync(second.certFile, whole.subarray(0, whole.length / 2));
  link(second);
  await stays('not PEM, or not a matching pair');
  rmSync(second.certFile);
  await stays('ENOENT');
  const third = await authority.server('DNS:localhost', 60, 'third');
  link({ ...second, certFile: third.certFile });
  await stays('not PEM, or not a matching pair');
  link(third);
  await expect.poll(() => faultsOf(home.gateway), READ).toEqual([]);
  expect(await shown('https')).not.toBe(before);
});

it('warns from 30 days before the certificate expires, and keeps serving after that', async () => {
  await start(60);
  const endMs = await metric();
  expect(endMs).toBeGreaterThan(Date.now() + 59 * DAY_MS);
  const ofCertificate = async () =>
    (await faultsOf(home.gateway)).filter((fault) => fault.includes('certificate'));
  expect(await ofCertificate()).toEqual([]);
  aheadMs = 48 * DAY_MS;
  await expect.poll(ofCertificate, READ).toEqual(['The TLS certificate expires in 12 days.']);
  aheadMs = 61 * DAY_MS;
  await expect.poll(ofCertificate, READ).toEqual(['The TLS certificate has expired.']);
  expect(await shown('mqtts')).toMatch(/./);
});

it('starts with an expired certificate, and reports it', async () => {
  await start(-1);
  expect(await faultsOf(home.gateway)).toEqual(['The TLS certificate has expired.']);
  expect((await fetch(`${home.gateway.httpUrl}/readyz`)).status).toBe(200);
});
