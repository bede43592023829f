import { once } from 'node:events';
import { type Duplex, PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { connected, start, TLS } from './listening.js';

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
