import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request as httpRequest, type ServerResponse } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Duplex, PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { GatewayError } from '../../../src/errors.js';
import {
  createHttpListener,
  type HttpListener,
  type HttpListenerOptions,
} from '../../../src/http/server/listener.js';
import { ProcessorShare } from '../../../src/network/processor-share.js';
import { failure, rawExchange } from '../client.js';
import { FAIRNESS } from '../operation/fairness.js';

/** Much shorter than the timeout of an idle connection, much longer than a prompt end. */
const SOON_MS = 4_000;
const FAR_DEADLINE_MS = 60_000;
const MORE_THAN_SOCKETS_BUFFER = 'x'.repeat(16 * 1024 * 1024);
const TLS = {
  cert: readFileSync('test/harness/tls/localhost.crt'),
  key: readFileSync('test/harness/tls/localhost.key'),
};
const log = pino({ level: 'silent' });
/** Records whom the listener names. */
class Named {
  readonly named: string[] = [];
  exceeded(quota: string, holder: string): void {
    this.named.push(`${quota} ${holder}`);
  }
}

const hello = { fetch: () => new Response('hello') };

async function start(options: Partial<HttpListenerOptions> = {}) {
  const listener = createHttpListener({
    app: hello,
    host: '127.0.0.1',
    port: 0,
    log,
    ...FAIRNESS,
    ...options,
  });
  onTestFinished(() => listener.stop(0));
  const bound = await listener.start();
  return { listener, ...bound };
}

/** Measures how long stopping takes. */
async function stopMs(listener: HttpListener, deadlineMs: number): Promise<number> {
  const startedAtMs = Date.now();
  await listener.stop(deadlineMs);
  return Date.now() - startedAtMs;
}

/** An app that holds its requests until they are released. */
function heldApp() {
  const gate = { release: (): void => undefined, arrived: (): void => undefined };
  const released = new Promise<void>((resolve) => {
    gate.release = resolve;
  });
  const arrived = new Promise<void>((resolve) => {
    gate.arrived = resolve;
  });
  let count = 0;
  const app = {
    fetch: async () => {
      count++;
      gate.arrived();
      await released;
      return new Response('finished');
    },
  };
  return { app, arrived, count: () => count, release: gate.release };
}

async function connected(port: number, send = '', localAddress = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  socket.on('error', () => undefined);
  onTestFinished(() => {
    socket.destroy();
  });
  await once(socket, 'connect');
  socket.write(send);
  return socket;
}

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

describe('a request with an offer to switch protocols', () => {
  const upgrade =
    'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n';
  const echo = {
    fetch: async (request: Request) =>
      new Response(`${request.method} ${await request.text()}.`, {
        headers: { 'X-Answer': 'yes' },
      }),
  };
  const others = { takes: () => false, upgrade: () => expect.unreachable() };

  it.each([undefined, others])(
    'is handled as an ordinary one when nobody accepts the offer',
    async (protocolSwitch) => {
      const { port } = await start({ app: echo, protocolSwitch });
      const body = `Content-Length: 4\r\n\r\nbody`;
      const socket = await connected(port, `POST / HTTP/1.1\r\nHost: x\r\n${upgrade}${body}`);
      expect(String((await once(socket, 'data'))[0])).toMatch(
        /^HTTP\/1\.1 200 [\s\S]*POST body\.$/,
      );
      // Java's client continues on the same connection.
      socket.write(`GET / HTTP/1.1\r\nHost: x\r\n${upgrade}\r\n`);
      expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 200 [\s\S]*GET \.$/);
      socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
      expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 [\s\S]*GET \.$/);
    },
  );

  // A turn reads 512 bytes of a head.
  it.each([200, 512, 513, 514, 515, 516, 1000])(
    'does not lose the answer to the next request, with a head of %i bytes',
    async (headBytes) => {
      const { port } = await start({ app: echo });
      const begin = `GET / HTTP/1.1\r\nHost: x\r\n${upgrade}X-Fill: `;
      const offer = `${begin}${'x'.repeat(headBytes - begin.length - 4)}\r\n\r\n`;
      const next = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n';
      const last = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
      const socket = await connected(port, `${offer}${next}${upgrade}\r\nbody${last}`);
      const answers = (await text(socket)).match(/(?:GET|POST) \w*\./g);
      expect(answers).toEqual(['GET .', 'POST body.', 'GET .']);
    },
  );
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

const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';

describe('a full listener', () => {
  it('closes the connection that has been idle the longest, and reports it', async () => {
    const lines: string[] = [];
    const logged = pino({}, { write: (line: string) => lines.push(line) });
    const watch = new Named();
    const { port } = await start({ maxConnections: 2, log: logged, watch });
    const [first, second] = [await connected(port), await connected(port)];
    first.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(first, 'data');
    const secondClosed = once(second, 'close');
    expect((await rawExchange(port, REQUEST)).status).toBe(200);
    await secondClosed;
    expect(first.destroyed).toBe(false);
    const firstClosed = once(first, 'close');
    const newer = await connected(port);
    await connected(port);
    await firstClosed;
    expect(newer.destroyed).toBe(false);
    expect(lines[0]).toContain('http listener is full');
    expect(watch.named[0]).toEqual('all-http-connections address:127.0.0.1');
  });

  it('prefers closing an idle connection to one that has switched protocols', async () => {
    const protocolSwitch = {
      takes: () => true,
      upgrade: (_request: unknown, socket: Duplex) => {
        socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n');
      },
    };
    const { port } = await start({ maxConnections: 2, protocolSwitch });
    const offer = 'Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
    const upgraded = await connected(port, `GET /mqtt HTTP/1.1\r\nHost: x\r\n${offer}`);
    await once(upgraded, 'data');
    const idle = await connected(port);
    const closed = Promise.race([
      once(upgraded, 'close').then(() => 'upgraded'),
      once(idle, 'close').then(() => 'idle'),
    ]);
    await connected(port);
    expect(await closed).toBe('idle');
  });

  it('names the address with the most connections, but not one with a single connection', async () => {
    const watch = new Named();
    const { port } = await start({ maxConnections: 4, watch });
    const single = await connected(port, '', '127.0.0.2');
    for (let index = 0; index < 3; index++) await connected(port);
    const closed = once(single, 'close');
    await connected(port);
    await closed;
    expect(watch.named).toEqual([]);
    await connected(port);
    await expect.poll(() => watch.named).toEqual(['all-http-connections address:127.0.0.1']);
  });

  it('keeps connections with a request, and closes new ones', async () => {
    const { app, arrived, release } = heldApp();
    const { port } = await start({ app, maxConnections: 1 });
    const first = await connected(port, REQUEST);
    await arrived;
    await once(await connected(port), 'close');
    release();
    expect(await text(first)).toContain('finished');
    expect((await rawExchange(port, REQUEST)).status).toBe(200);
  });

  it('has room for known clients when strangers take all they can', async () => {
    const { app, count, release } = heldApp();
    let isKnown = false;
    const { port } = await start({ app, maxConnections: 10, isKnown: () => isKnown });
    const strangers = [];
    for (let index = 0; index < 9; index++) strangers.push(await connected(port, REQUEST));
    await expect.poll(count).toBe(9);
    await once(await connected(port, REQUEST), 'close');
    isKnown = true;
    const known = await connected(port, REQUEST);
    release();
    expect(await text(known)).toContain('finished');
    for (const stranger of strangers) expect(await text(stranger)).toContain('finished');
  });
});

it('limits the connections of an address and names it, unless the address is trusted', async () => {
  const trusted = await start({ maxConnectionsPerAddress: 1 });
  await connected(trusted.port);
  expect((await rawExchange(trusted.port, REQUEST)).status).toBe(200);
  const watch = new Named();
  const options = { maxConnectionsPerAddress: 1, isTrustedAddress: () => false, watch };
  const { port } = await start(options);
  const first = await connected(port);
  for (const further of [await connected(port), await connected(port)])
    await once(further, 'close');
  const name = 'http-connections address:127.0.0.1';
  expect(watch.named).toEqual([name, name]);
  first.end();
  await once(first, 'close');
  expect((await rawExchange(port, REQUEST)).status).toBe(200);
});

describe('pipelined requests', () => {
  const requests = (count: number) => 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(count);

  it('are answered one after another, however many there are', async () => {
    let asked = 0;
    let atOnce = 0;
    let mostAtOnce = 0;
    const app = {
      fetch: async () => {
        mostAtOnce = Math.max(mostAtOnce, ++atOnce);
        await Promise.resolve();
        atOnce--;
        return new Response(`answer ${asked++}.`);
      },
    };
    const { port } = await start({ app });
    const socket = await connected(port, requests(500));
    let received = '';
    while (!received.includes('answer 499.')) received += (await once(socket, 'data'))[0];
    const answers = [...received.matchAll(/answer (\d+)\./g)].map(([, number]) => Number(number));
    expect(answers).toEqual(answers.map((_, index) => index));
    expect(mostAtOnce).toBe(1);
  });

  it('do not hold up anybody else', async () => {
    const workMs = 3;
    const app = {
      fetch: (request: Request) => {
        const untilMs = performance.now() + (request.url.endsWith('/slow') ? workMs : 0);
        while (performance.now() < untilMs);
        return new Response('hello');
      },
    };
    // All are in one network here: a new connection waits for a few turns of each, but not for two minutes.
    const { port } = await start({ app });
    const slow = 'GET /slow HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2_000);
    for (let index = 0; index < 20; index++) (await connected(port, slow)).resume();
    const startedAtMs = performance.now();
    expect((await rawExchange(port, REQUEST)).status).toBe(200);
    expect(performance.now() - startedAtMs).toBeLessThan(10_000);
  });
});

it('reads a large body in large pieces, but not the requests behind it', async () => {
  const app = {
    fetch: async (request: Request) => new Response(`${(await request.text()).length}.`),
  };
  const { port } = await start({ app });
  const body = 'x'.repeat(5_000_000);
  const upload = `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const socket = await connected(port, `${upload}${upload}${REQUEST}`);
  const received = await text(socket);
  expect([...received.matchAll(/(\d+)\.$|(\d+)\.HTTP/g)].map(String)).toHaveLength(3);
  expect(received).toMatch(/5000000\.HTTP[\s\S]*5000000\.HTTP[\s\S]*\b0\.$/);
});

it('cuts off a client that reads nothing of its answer', async () => {
  let tell: () => void;
  const cut = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const app = {
    fetch: (request: Request, { outgoing }: { outgoing?: ServerResponse }) => {
      if (request.url.endsWith('/small')) return new Response('hello');
      outgoing?.once('close', () => tell());
      return new Response(MORE_THAN_SOCKETS_BUFFER);
    },
  };
  const { port } = await start({ app, stalledAfterMs: 50 });
  const socket = await connected(port, 'GET /small HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(socket, 'data');
  socket.pause();
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  // The whole answer cannot have gone out, because nobody reads.
  await cut;
});

it('closes a connection on which no request arrives', async () => {
  const { port } = await start({ stalledAfterMs: 50 });
  await once(await connected(port), 'close');
});

it('answers 408 when the head of a request arrives too slowly', async () => {
  const { port } = await start({ headersTimeoutMs: 100 });
  const socket = await connected(port, 'GET / HTTP/1.1\r\nHost: x\r\nSlow: ');
  const drip = setInterval(() => socket.write('x'), 50);
  onTestFinished(() => clearInterval(drip));
  const [answer] = await once(socket, 'data');
  expect(String(answer)).toContain('HTTP/1.1 408');
  await once(socket, 'close');
});

it('closes after the last answer, even if the client does not', async () => {
  const { port } = await start();
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.resume();
  socket.write(REQUEST);
  await once(socket, 'end');
  const drip = setInterval(() => socket.write('x'), 50);
  onTestFinished(() => clearInterval(drip));
  await closed;
});

it('reads a limited amount after the last answer', async () => {
  const { port } = await start();
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.resume();
  socket.write(REQUEST);
  await once(socket, 'end');
  const piece = Buffer.alloc(64 * 1024);
  const flood = () => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on('drain', flood);
  flood();
  await closed;
  // Including the socket buffers; in the second before the connection would end anyway, it would be a gigabyte.
  expect(socket.bytesWritten).toBeLessThan(32 * 1024 * 1024);
});

it('starts four requests of a client immediately while the store does not answer, and the next after a quarter of a second', async () => {
  const { app, release } = heldApp();
  const begunAtMs: number[] = [];
  const fetch = () => {
    begunAtMs.push(performance.now());
    return app.fetch();
  };
  const { port } = await start({ app: { fetch } });
  await Promise.all(Array.from({ length: 5 }, () => connected(port, REQUEST)));
  await expect.poll(() => begunAtMs.length).toBe(5);
  const [first = 0, , , fourth = 0, fifth = 0] = begunAtMs;
  expect(fourth - first).toBeLessThan(SOON_MS);
  expect(fifth - first).toBeGreaterThan(200);
  release();
});

it('completes TLS handshakes while requests wait for a store that does not answer', async () => {
  const { app, count, release } = heldApp();
  const turns = new ProcessorShare();
  const [plain, secure] = [await start({ app, turns }), await start({ tls: TLS, turns })];
  for (let index = 0; index < 40; index++) await connected(plain.port, REQUEST);
  // By the third, all are parsed and wait for their turns.
  await expect.poll(count).toBeGreaterThan(2);
  const startedAtMs = performance.now();
  const handshakes = Array.from({ length: 20 }, async () => {
    const socket = await connected(secure.port);
    await once(connectTls({ socket, rejectUnauthorized: false }), 'secureConnect');
  });
  await Promise.all(handshakes);
  expect(performance.now() - startedAtMs).toBeLessThan(SOON_MS);
  release();
});

describe('a slow body', () => {
  const request = (path: string) =>
    `PUT ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 4\r\n\r\nab`;

  it('is answered 408, unless a long body is expected', async () => {
    const app = {
      fetch: async (asked: Request, { expectLongBody }: { expectLongBody?: () => void }) => {
        if (asked.url.endsWith('/long')) expectLongBody?.();
        return new Response(await asked.text().catch(() => 'broken off'));
      },
    };
    const { port } = await start({ app, bodyTimeoutMs: 400, stalledAfterMs: 200 });
    const patient = await connected(port, request('/long'));
    const received = text(patient);
    expect(failure(await rawExchange(port, request('/short')))).toBe('408 request-timeout');
    expect(failure(await rawExchange(port, request('/short')))).toBe('408 request-timeout');
    patient.write('cd');
    expect(await received).toMatch(/^HTTP\/1\.1 200 [\s\S]*abcd$/);
  });
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

describe('a connection reset by its peer', () => {
  const upgrade =
    'GET /mqtt HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
  const protocolSwitch = {
    takes: () => true,
    upgrade: (_request: unknown, socket: Duplex) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n');
    },
  };
  const heads = {
    CONNECT: ['CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n', 'HTTP/1.1 400'],
    'an upgrade': [upgrade, 'HTTP/1.1 101'],
  };
  const cases = Object.entries(heads)
    .flatMap(([what, [head = '', answer = '']]) =>
      [false, true].map((isTls) => ({ what, over: isTls ? 'TLS' : 'TCP', isTls, head, answer })),
    )
    // TLS has already ended on both sides by the time of the reset.
    .filter(({ what, isTls }) => what !== 'CONNECT' || !isTls);

  it.each(cases)('only logs a line after $what over $over', async (each) => {
    const { isTls, head, answer } = each;
    const logged = new PassThrough();
    const tls = isTls ? TLS : undefined;
    const { port } = await start({ log: pino({ level: 'debug' }, logged), protocolSwitch, tls });
    const tcp = await connected(port);
    const socket = isTls ? connectTls({ socket: tcp, rejectUnauthorized: false }) : tcp;
    socket.on('error', () => undefined);
    socket.write(head);
    expect(String((await once(socket, 'data'))[0])).toContain(answer);
    tcp.resetAndDestroy();
    // Without a listener the error would end the gateway, and fail the run here.
    expect(String((await once(logged, 'data'))[0])).toContain('ECONNRESET');
  });
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
