import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { StandingBy } from '../../src/composition/standing-by.js';
import { loadConfig } from '../../src/config/load.js';
import { GatewayProcess } from '../former/gateway/gateway-process.js';
import { unusedPort } from '../former/servers/unused-port.js';

/** Shorter than the timeout of a TLS handshake, and longer than a machine stalls. */
const SOON_MS = 4_000;

/** A gateway's HTTP while it stands by, with TLS. */
async function newStandingBy() {
  const [port, tlsPort] = [await unusedPort(), await unusedPort()];
  const env = {
    GATEWAY_HTTP_PORT: String(port),
    GATEWAY_HTTP_TLS_PORT: String(tlsPort),
    GATEWAY_TLS_HOST: '127.0.0.1',
    GATEWAY_TLS_CERT_FILE: 'test/harness/tls/localhost.crt',
    GATEWAY_TLS_KEY_FILE: 'test/harness/tls/localhost.key',
  };
  const config = loadConfig({ env, programDir: '/none', cwd: process.cwd() });
  const standingBy = new StandingBy(config, '1.2.3', pino({ level: 'silent' }));
  onTestFinished(() => standingBy.close());
  return { standingBy, port, tlsPort };
}

async function occupy(port: number): Promise<Server> {
  const server = createServer().listen(port, '127.0.0.1');
  onTestFinished(() => {
    server.close();
  });
  await once(server, 'listening');
  return server;
}

it('frees its addresses immediately even if a client has not finished its TLS handshake', async () => {
  const { standingBy, tlsPort } = await newStandingBy();
  await standingBy.open();
  const silent = connect({ port: tlsPort, host: '127.0.0.1' }).resume();
  silent.on('error', () => undefined);
  await once(silent, 'connect');
  // Once the second is served, the first has been accepted.
  const served = connectTls({ port: tlsPort, host: '127.0.0.1', rejectUnauthorized: false });
  await once(
    served.on('error', () => undefined),
    'secureConnect',
  );
  const closed = once(silent, 'close');
  const startedAtMs = performance.now();
  await standingBy.close();
  expect(performance.now() - startedAtMs).toBeLessThan(SOON_MS);
  await closed;
});

describe('an address in use', () => {
  it('fails the opening, names the key to change, and frees the others', async () => {
    const { standingBy, port, tlsPort } = await newStandingBy();
    await occupy(tlsPort);

    await expect(standingBy.open()).rejects.toMatchObject({
      code: 'start-failed',
      detail: expect.stringMatching(/is in use .*http\.tlsPort/),
    });
    await occupy(port);
  });

  it('is retried at the next opening', async () => {
    const { standingBy, port } = await newStandingBy();
    const other = await occupy(port);
    await expect(standingBy.open()).rejects.toThrow('is in use');
    await expect(standingBy.open()).rejects.toThrow('is in use');
    other.close();
    await once(other, 'close');

    await standingBy.open();
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`);
    expect(answer.status).toBe(503);
  });
});

it('leaves no address in use when closed while opening', async () => {
  const { standingBy, port, tlsPort } = await newStandingBy();
  const opened = standingBy.open();
  await standingBy.close();
  await opened;
  await occupy(port);
  await occupy(tlsPort);
});

it('ends a start with the reason when the store is away and the address is in use', async () => {
  const port = await unusedPort();
  await occupy(port);
  const gateway = await GatewayProcess.create({
    GATEWAY_REDIS_URL: `redis://127.0.0.1:${await unusedPort()}`,
    GATEWAY_HTTP_PORT: String(port),
  });
  onTestFinished(() => gateway.remove());

  await expect(gateway.startStandingBy()).rejects.toThrow(
    /failed to start the gateway: port \d+ on 127\.0\.0\.1 is in use/,
  );
});
