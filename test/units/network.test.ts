/** What the network gives each client: its turns, its TLS handshake, and all packets that arrived. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextImmediate } from 'node:timers/promises';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import fc from 'fast-check';
import { generate } from 'mqtt-packet';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Incoming, overSocket } from '../../src/broker/transport.js';
import { PacketError } from '../../src/mqtt/codes.js';
import { Circle } from '../../src/network/circle.js';
import { ServerCertificate } from '../../src/network/server-certificate.js';
import { HANDSHAKE_TIMEOUT_MS, TlsFront } from '../../src/network/tls.js';

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await nextImmediate();
}

/** Asks for a turn this many times, one after another, and notes each. */
function ask(circle: Circle, line: string, times: number, done: string[]): void {
  let left = times;
  const work = () => {
    done.push(line);
    left--;
    if (left > 0) circle.want(line, work);
  };
  circle.want(line, work);
}

it('gives a network of one connection as many turns as one of a hundred', async () => {
  const circle = new Circle();
  const done: string[] = [];
  for (let index = 0; index < 100; index++) ask(circle, '192.0.2.1', 5, done);
  ask(circle, '192.0.2.2', 5, done);
  await until(() => done.length === 505);
  expect(done.slice(0, 10)).toEqual(Array(5).fill(['192.0.2.1', '192.0.2.2']).flat());
});

it('does eight pieces of work at most in a turn of the event loop', async () => {
  const circle = new Circle();
  const done: string[] = [];
  for (let index = 0; index < 100; index++) ask(circle, 'flood', 2, done);
  let mostAtOnce = 0;
  while (done.length < 200) {
    const before = done.length;
    await nextImmediate();
    mostAtOnce = Math.max(mostAtOnce, done.length - before);
  }
  expect(mostAtOnce).toBe(8);
});

it('lets the promises of a piece run before the next one', async () => {
  const circle = new Circle();
  const order: string[] = [];
  for (const name of ['first', 'second']) {
    circle.want(name, () => {
      order.push(name);
      void Promise.resolve().then(() => order.push(`after ${name}`));
    });
  }
  await until(() => order.length === 4);
  expect(order).toEqual(['first', 'after first', 'second', 'after second']);
});

it('does not do work that was taken back, nor any twice', async () => {
  const circle = new Circle();
  const done: string[] = [];
  const gone = () => done.push('gone');
  const once = () => done.push('there');
  circle.want('a', gone);
  circle.want('b', once);
  circle.want('b', once);
  circle.leave('a', gone);
  for (let turn = 0; turn < 5; turn++) await nextImmediate();
  expect(done).toEqual(['there']);
});

const TLS = {
  certFile: 'test/harness/tls/localhost.crt',
  keyFile: 'test/harness/tls/localhost.key',
};

/** A TLS server that says hello, and the lines of its log. */
async function start({ handshakeTimeoutMs = HANDSHAKE_TIMEOUT_MS, files = TLS } = {}) {
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => lines.push(line) });
  const health = { report: () => undefined };
  const certificate = await ServerCertificate.open({ ...files, health, log, now: Date.now });
  const front = new TlsFront({
    certificate,
    circle: new Circle(),
    handshakeTimeoutMs,
    onSecure: (secured) => {
      secured.on('error', () => undefined);
      secured.write('hello');
    },
    log,
  });
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    front.accept(socket);
  }).listen(0, '127.0.0.1');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await once(server, 'listening');
  const bound = server.address();
  return { port: typeof bound === 'object' && bound !== null ? bound.port : 0, lines };
}

function client(port: number, options: ConnectionOptions = {}): TLSSocket {
  const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options });
  socket.on('error', () => undefined);
  onTestFinished(() => {
    socket.destroy();
  });
  return socket;
}

async function greeted(socket: TLSSocket): Promise<void> {
  const [data] = await once(socket, 'data');
  expect(String(data)).toBe('hello');
}

const RETRY = { ecdhCurve: 'secp384r1:prime256v1' };

describe('a handshake', () => {
  it.each<ConnectionOptions>([{}, { maxVersion: 'TLSv1.2' }, RETRY])(
    'succeeds with %o',
    async (options) => {
      const { port } = await start();
      await greeted(client(port, options));
    },
  );

  it('fails with an RSA certificate when the client offers no forward secrecy', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'gateway-rsa-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const files = { keyFile: join(directory, 'key.pem'), certFile: join(directory, 'cert.pem') };
    const make = 'req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost'.split(' ');
    execFileSync('openssl', [...make, '-keyout', files.keyFile, '-out', files.certFile], {
      stdio: 'ignore',
    });
    const { port } = await start({ files });
    const offering = (ciphers: string) => client(port, { maxVersion: 'TLSv1.2', ciphers });
    await greeted(offering('ECDHE-RSA-AES128-GCM-SHA256'));
    const socket = offering('AES128-GCM-SHA256');
    await new Promise((resolve) => socket.once('close', resolve));
    expect(socket.getProtocol()).toBeNull();
  });

  it('succeeds when the first bytes arrive one by one', async () => {
    const { port } = await start();
    const proxy = createServer((near) => {
      const far = connect({ port, host: '127.0.0.1', noDelay: true });
      far.pipe(near);
      near.on('data', (bytes: Buffer) => {
        for (const byte of bytes) far.write(Buffer.from([byte]));
      });
      near.on('close', () => far.destroy());
    }).listen(0, '127.0.0.1');
    onTestFinished(() => {
      proxy.close();
    });
    await once(proxy, 'listening');
    const bound = proxy.address();
    await greeted(client(typeof bound === 'object' ? (bound?.port ?? 0) : 0));
  });

  it('ends at its timeout when the client is silent or slow', async () => {
    const { port } = await start({ handshakeTimeoutMs: 100 });
    const silent = connect({ port, host: '127.0.0.1' });
    const slow = connect({ port, host: '127.0.0.1' });
    slow.write(Buffer.from([22, 3, 1]));
    const closed = [silent, slow].map((socket) => {
      return new Promise((resolve) => socket.once('close', resolve));
    });
    await Promise.all(closed);
  });

  it('cannot be renegotiated on its connection', async () => {
    const { port } = await start();
    const socket = client(port, { maxVersion: 'TLSv1.2' });
    await greeted(socket);
    const failed = new Promise((resolve) => {
      socket.renegotiate({ rejectUnauthorized: false }, resolve);
      socket.once('error', resolve);
    });
    expect(await failed).toMatchObject({ code: 'ERR_SSL_NO_RENEGOTIATION' });
  });

  it('that fails is logged with the address, and ends the connection', async () => {
    const { port, lines } = await start();
    const socket = connect({ port, host: '127.0.0.1' });
    socket.on('error', () => undefined);
    socket.write('GET / HTTP/1.1\r\n\r\n');
    socket.resume();
    await once(socket, 'close');
    expect(lines).toEqual([
      expect.stringContaining('"address":"127.0.0.1","reason":"http request"'),
    ]);
  });
});

/** Both ends of a TCP connection. */
async function connected(): Promise<{ client: Socket; accepted: Socket }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('not a TCP address');
  const client = connect(bound.port, '127.0.0.1');
  const [accepted] = await once(server, 'connection');
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  return { client, accepted };
}

/** Everything that comes, as packets of two bytes. */
async function bytesOf(incoming: Incoming): Promise<number> {
  for (let packets = 0; ; ) {
    if (incoming.next(2) !== undefined) packets++;
    else if (incoming.hasEnded) return 2 * packets;
    else await nextImmediate();
  }
}

/** So many bytes of PINGREQ. */
function pings(bytes: number): Buffer {
  return Buffer.alloc(bytes, Buffer.from([0xc0, 0]));
}

it.each([0, 2, 1_024, 20_000])(
  'a client is read to its end that has closed after %i bytes',
  async (length) => {
    const { client, accepted } = await connected();
    client.end(pings(length));
    const incoming = new Incoming(() => undefined);
    overSocket(accepted, incoming);
    expect(await bytesOf(incoming)).toBe(length);
  },
);

it('a client that has broken off is read to its last byte, though it is paused and writes fail', async () => {
  const { client, accepted } = await connected();
  const incoming = new Incoming(() => undefined);
  const transport = overSocket(accepted, incoming);
  // More than waits here, and more than a socket reads ahead.
  client.write(pings(100_000));
  await once(client, 'drain');
  client.resetAndDestroy();
  await once(client, 'close');
  const write = () => new Promise<void>((resolve) => transport.write([pings(2)], true, resolve));
  for (let written = 0; written < 3; written++) await Promise.race([write(), nextImmediate()]);
  expect(await bytesOf(incoming)).toBe(100_000);
});

it('a client that sends more than is handled is paused, until half of it is', async () => {
  const paused: boolean[] = [];
  const incoming = new Incoming(() => undefined);
  incoming.from({ pause: () => paused.push(true), resume: () => paused.push(false) });
  incoming.add(pings(16 * 1_024));
  expect(paused).toEqual([]);
  incoming.add(pings(2));
  expect(paused).toEqual([true]);
  for (let taken = 0; taken < 4_096; taken++) incoming.next(2);
  expect(paused).toEqual([true]);
  incoming.next(2);
  expect(paused).toEqual([true, false]);
});

it('a packet whose bytes come alone is put together, and takes little memory meanwhile', () => {
  const packet = Buffer.concat([Buffer.from([0x30, 0x80, 0x50]), Buffer.alloc(10_240, 'x')]);
  let asked = 0;
  const incoming = new Incoming(() => asked++);
  for (const byte of packet) {
    incoming.add(Buffer.from([byte]));
    if (incoming.next(packet.length) !== undefined) break;
  }
  // While its length is unknown, and when it is there.
  expect(asked).toBe(4);
  expect(incoming.hasMore).toBe(false);
});

const MAX_BYTES = 4_096;

it('packets are the same wherever their bytes are split', () => {
  const [lists, chunks] = [
    fc.array(fc.nat({ max: 1_000 }), { maxLength: 8 }),
    fc.array(fc.integer({ min: 1, max: 700 })),
  ];
  fc.assert(
    fc.property(lists, chunks, (payloads, sizes) => {
      const sent = payloads.map((bytes) => publishOf(Buffer.alloc(bytes, 'x')));
      const all = Buffer.concat(sent);
      const incoming = new Incoming(() => undefined);
      const found: Buffer[] = [];
      for (let at = 0; at < all.length; ) {
        const bytes = sizes.shift() ?? 1;
        incoming.add(all.subarray(at, at + bytes));
        at += bytes;
        for (let one = incoming.next(MAX_BYTES); one; one = incoming.next(MAX_BYTES)) {
          found.push(one);
        }
        expect(incoming.hasMore).toBe(false);
      }
      expect(found).toEqual(sent);
    }),
  );
});

function publishOf(payload: Buffer): Buffer {
  return generate({ cmd: 'publish', topic: 't', payload, qos: 0, dup: false, retain: false });
}

it('a packet that is too long is refused at its length', () => {
  const incoming = new Incoming(() => undefined);
  const longest = Buffer.concat([Buffer.from('30fd1f', 'hex'), Buffer.alloc(MAX_BYTES - 3)]);
  incoming.add(longest);
  expect(incoming.next(MAX_BYTES)).toEqual(longest);
  incoming.add(Buffer.from('30fe1f', 'hex'));
  expect(() => incoming.next(MAX_BYTES)).toThrow(PacketError);
  const endless = new Incoming(() => undefined);
  endless.add(Buffer.from('3080808080', 'hex'));
  expect(() => endless.next(MAX_BYTES)).toThrow(PacketError);
});
