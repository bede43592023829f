/**
 * What a slow client may take its time for: a head 10 s, its own reading twice 15 s, a TLS handshake 10 s. All
 * wait at the same time, in a gateway that answers everybody else.
 */
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, test } from '../harness/index.js';

const FOLDER = 'test/harness/tls';
const HEALTH = 'GET /healthz HTTP/1.1\r\nHost: x\r\n';
const BUNDLE = 'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n';

/** More than the buffers of all sockets. */
const ANSWERS = 40;

interface Row {
  readonly name: string;
  readonly sends: string;
  /** Goes on with such a byte every second. */
  readonly drips?: string;
  readonly reads?: boolean;
  readonly isTls?: boolean;
  readonly answer: string;
}

const ROWS: readonly Row[] = [
  { name: 'no request', sends: '', answer: '408 request-timeout' },
  { name: 'nothing after a request', sends: `${HEALTH}\r\n`, answer: '200' },
  { name: 'a slow head', sends: `${HEALTH}Slow: `, drips: 'x', answer: '408 request-timeout' },
  { name: 'no TLS handshake', sends: '', isTls: true, answer: '' },
  { name: 'a part of a TLS handshake', sends: '\x16\x03', isTls: true, answer: '' },
  {
    name: 'an answer that nobody reads',
    sends: BUNDLE.repeat(ANSWERS),
    reads: false,
    answer: '200',
  },
];

test('slow clients are cut off, with 408 where a request has begun', {
  timeout: 90_000,
}, async ({ own }) => {
  const [certFile, keyFile] = ['crt', 'key'].map((end) => join(FOLDER, `localhost.${end}`));
  const home = await own.home({
    env: {
      GATEWAY_TLS_CERT_FILE: certFile,
      GATEWAY_TLS_KEY_FILE: keyFile,
      GATEWAY_HTTP_TLS_PORT: '0',
      GATEWAY_MQTT_TLS_PORT: '0',
    },
  });
  const { http, https } = home.gateway.addresses;
  const { token } = home.manager;
  const authorized = `Authorization: Bearer ${token}\r\nContent-Type: application/json`;
  const idled = () =>
    new Promise((resolve) => {
      const socket = connect({ port: http.port, host: '127.0.0.1' }).once('close', resolve);
      socket.resume().write(`${HEALTH}\r\n`);
    });
  const outcomes: Promise<string>[] = [];
  for (const { sends, drips, reads = true, isTls, answer } of ROWS) {
    const port = isTls === true ? https?.port : http.port;
    const socket = connect({ port: port ?? 0, host: '127.0.0.1' });
    own.onEnd(() => socket.destroy());
    let received = '';
    const listen = () => socket.on('data', (bytes) => (received += bytes));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => undefined);
    socket.write(sends.replace('AUTHORIZED', authorized).replace('HOME', home.path), 'latin1');
    if (reads) listen();
    // Who does not read learns of the end when it reads after all: as long after the others as two idle.
    else Promise.all(outcomes).then(idled).then(idled).then(listen);
    const drip = setInterval(() => drips !== undefined && socket.write(drips), 1_000);
    outcomes.push(
      closed.then(() => {
        clearInterval(drip);
        const code = /"code":"([a-z-]+)"/.exec(received)?.[1];
        const seen = received.slice(9, 12) + (code === undefined ? '' : ` ${code}`);
        const isWhole = received.split('HTTP/1.1 200').length > ANSWERS;
        return seen === answer && !isWhole ? answer : received.slice(0, 500);
      }),
    );
  }
  expect((await home.ask('GET', '/healthz')).status).toBe(200);
  expect(await Promise.all(outcomes)).toEqual(ROWS.map(({ answer }) => answer));
  expect((await home.ask('GET', '/healthz')).status).toBe(200);
});
