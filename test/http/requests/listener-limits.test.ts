import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ProcessorShare } from '../../../src/network/processor-share.js';
import { failure, rawExchange } from '../client.js';

import {
  connected,
  heldApp,
  MORE_THAN_SOCKETS_BUFFER,
  Named,
  SOON_MS,
  start,
  TLS,
} from './listening.js';

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
