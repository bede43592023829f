import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { GatewayError } from '../../../src/errors.js';
import { createHttpListener } from '../../../src/http/server/listener.js';
import { failure, rawExchange } from '../client.js';
import { FAIRNESS } from '../operation/fairness.js';
import {
  connected,
  FAR_DEADLINE_MS,
  heldApp,
  hello,
  log,
  MORE_THAN_SOCKETS_BUFFER,
  SOON_MS,
  start,
  stopMs,
  TLS,
} from './listening.js';

describe('starting', () => {
  it('picks a free port for 0, and returns it', async () => {
    const { address, port } = await start();
    expect(address).toBe('127.0.0.1');
    expect(port).toBeGreaterThan(0);
    const answer = await rawExchange(
      port,
      'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    );
    expect(answer.status).toBe(200);
  });

  it('queues more connections than Node.js by default while busy', async () => {
    const { port } = await start();
    const count = 700;
    const program = `
      let connected = 0;
      const tell = () => { process.stdout.write(String(connected)); process.exit(); };
      for (let index = 0; index < ${count}; index++)
        require('node:net').connect(${port}, '127.0.0.1', () => ++connected === ${count} && tell());
      setTimeout(tell, ${SOON_MS});`;
    // Meanwhile this process accepts nothing.
    expect(execFileSync(process.execPath, ['-e', program]).toString()).toBe(String(count));
  });

  it('fails with the address if it is taken', async () => {
    const { port } = await start();
    const second = createHttpListener({ app: hello, host: '127.0.0.1', port, log, ...FAIRNESS });
    const failed = await second.start().catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(GatewayError);
    expect(failed).toMatchObject({
      code: 'start-failed',
      detail: expect.stringContaining(`http://127.0.0.1:${port}: EADDRINUSE`),
    });
    await second.stop(0);
  });
});

describe('stopping', () => {
  it('closes idle connections immediately', async () => {
    const { listener, port } = await start();
    const agent = new Agent({ keepAlive: true });
    const request = httpRequest({ port, host: '127.0.0.1', agent }).end();
    const [response] = await once(request, 'response');
    expect(await text(response)).toBe('hello');
    expect(await stopMs(listener, FAR_DEADLINE_MS)).toBeLessThan(SOON_MS);
  });

  it.each([
    ['a silent one', undefined, async () => undefined],
    ['one with a part of a head', undefined, async (socket: Socket) => socket.write('GET /')],
    ['one before its TLS handshake', TLS, async () => undefined],
    ['one in its TLS handshake', TLS, async (socket: Socket) => socket.write('\x16\x03')],
    [
      'one after its TLS handshake',
      TLS,
      async (socket: Socket) =>
        once(connectTls({ socket, rejectUnauthorized: false }), 'secureConnect'),
    ],
  ])('closes a connection without a request immediately: %s', async (_which, tls, begin) => {
    const { listener, port } = await start({ tls });
    const socket = await connected(port);
    await begin(socket);
    expect(await stopMs(listener, FAR_DEADLINE_MS)).toBeLessThan(SOON_MS);
  });

  it('waits for the current request, and no longer', async () => {
    const { app, arrived, release } = heldApp();
    const { listener, port } = await start({ app });
    const agent = new Agent({ keepAlive: true });
    const request = httpRequest({ port, host: '127.0.0.1', agent }).end();
    await arrived;
    const stopped = stopMs(listener, FAR_DEADLINE_MS);
    const late = connect({ port, host: '127.0.0.1' });
    expect((await once(late, 'error'))[0]).toMatchObject({ code: 'ECONNREFUSED' });
    release();
    const [response] = await once(request, 'response');
    expect(await text(response)).toBe('finished');
    expect(await stopped).toBeLessThan(SOON_MS);
  });

  it('cuts open connections at the deadline', async () => {
    const { app, arrived } = heldApp();
    const { listener, port } = await start({ app });
    const hanging = await connected(port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const silent = await connected(port);
    await arrived;
    const closed = Promise.all([once(hanging, 'close'), once(silent, 'close')]);
    expect(await stopMs(listener, 20)).toBeLessThan(SOON_MS);
    await closed;
  });

  it('cuts upgraded connections at the deadline, too', async () => {
    const upgraded: string[] = [];
    const { listener, port } = await start({
      protocolSwitch: {
        takes: () => true,
        upgrade: (request, socket) => {
          upgraded.push(request.url ?? '');
          socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n');
        },
      },
    });
    const head =
      'GET /mqtt HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
    const socket = await connected(port, head);
    expect(String((await once(socket, 'data'))[0])).toContain('101 Switching');
    expect(upgraded).toEqual(['/mqtt']);
    const closed = once(socket, 'close');
    expect(await stopMs(listener, 20)).toBeLessThan(SOON_MS);
    await closed;
  });

  it('works before starting, and twice', async () => {
    const listener = createHttpListener({
      app: hello,
      host: '127.0.0.1',
      port: 0,
      log,
      ...FAIRNESS,
    });
    await listener.stop(0);
    const { listener: started } = await start();
    await started.stop(0);
    await started.stop(0);
  });
});

it('refuses to be a proxy', async () => {
  const { port } = await start();
  const answer = await rawExchange(port, 'CONNECT other:443 HTTP/1.1\r\nHost: other:443\r\n\r\n');
  expect(failure(answer)).toBe('400 invalid-request');
});

it('writes an error after the answer, not into the middle of it', async () => {
  const { port } = await start({ app: { fetch: () => new Response(MORE_THAN_SOCKETS_BUFFER) } });
  const socket = await connected(port);
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\nnonsense\r\n\r\n');
  const received = await text(socket);
  const heads = [...received.matchAll(/HTTP\/1\.1 (\d{3})/g)];
  expect(heads.map(([, status]) => status)).toEqual(['200', '400']);
  expect(heads[1]?.index).toBeGreaterThan(MORE_THAN_SOCKETS_BUFFER.length);
});

it('closes the connection after an error, even with unread bytes', async () => {
  const { port } = await start();
  const socket = await connected(port, `nonsense\r\n\r\n${'x'.repeat(100_000)}`);
  const startedAtMs = Date.now();
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /);
  if (!socket.closed) await once(socket, 'close');
  expect(Date.now() - startedAtMs).toBeLessThan(SOON_MS);
});

it('closes the connection when a body turns out to be malformed in the middle of the answer', async () => {
  const app = {
    fetch: () => new Response(new ReadableStream({ start: (c) => c.enqueue('begun') })),
  };
  const { port } = await start({ app });
  const head = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
  const socket = await connected(port, `${head}1\r\na\r\n`);
  let received = '';
  socket.on('data', (data: Buffer) => {
    received += data;
  });
  await once(socket, 'data');
  socket.write('nonsense\r\n');
  await once(socket, 'close');
  expect(received.match(/HTTP\/1\.1 \d{3}/g)).toEqual(['HTTP/1.1 200']);
});

it('hides the message of a failure in the app itself', async () => {
  const lines: string[] = [];
  const { port } = await start({
    app: { fetch: () => Promise.reject(new Error('the inside')) },
    log: pino({}, { write: (line: string) => lines.push(line) }),
  });
  const answer = await rawExchange(port, 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  expect(failure(answer)).toBe('500 internal-error');
  expect(answer.text).not.toContain('the inside');
  expect(lines.join('')).toContain('the inside');
});

it('closes a connection on which no TLS handshake arrives', async () => {
  const { port } = await start({ tls: TLS, handshakeTimeoutMs: 50 });
  const silent = await Promise.all([connected(port), connected(port), connected(port)]);
  await Promise.all(silent.map((socket) => once(socket, 'close')));
});

it('speaks TLS', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-tls-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const [keyFile, certFile] = [join(directory, 'key.pem'), join(directory, 'cert.pem')];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  const files = ['-keyout', keyFile, '-out', certFile];
  execFileSync(
    'openssl',
    [
      ...'req -x509 -newkey ec -nodes -days 2 -pkeyopt ec_paramgen_curve:prime256v1'.split(' '),
      ...subject,
      ...files,
    ],
    { stdio: 'ignore' },
  );
  const [key, cert] = [readFileSync(keyFile), readFileSync(certFile)];
  const { listener, port } = await start({ tls: { key, cert } });
  const agentless = { agent: false, ca: cert, servername: 'localhost' };
  const request = httpsRequest({ port, host: '127.0.0.1', ...agentless }).end();
  const [response] = await once(request, 'response');
  expect(await text(response)).toBe('hello');
  const silent = await connected(port);
  const closed = once(silent, 'close');
  expect(await stopMs(listener, 20)).toBeLessThan(SOON_MS);
  await closed;
});
