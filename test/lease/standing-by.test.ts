import { once } from 'node:events';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { loadConfig } from '../../src/config/load.js';
import { StandingBy } from '../../src/standing-by.js';
import { unusedPort } from '../harness/unused-port.js';

/** Much shorter than the timeout of a TLS handshake. */
const SOON_MS = 3_000;

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
  const standingBy = new StandingBy(config, pino({ level: 'silent' }));
  onTestFinished(() => standingBy.close());
  return { standingBy, port, tlsPort };
}

it('frees its addresses at once when a client has not finished its TLS handshake', async () => {
  const { standingBy, tlsPort } = await newStandingBy();
  await standingBy.open();
  const silent = connect({ port: tlsPort, host: '127.0.0.1' }).resume();
  silent.on('error', () => undefined);
  await once(silent, 'connect');
  // Once the second is served, the first was accepted.
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
