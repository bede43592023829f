/** What the network gives each client: its share of the processor, its TLS handshake, and all packets that arrived. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextImmediate, setTimeout } from 'node:timers/promises';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import fc from 'fast-check';
import { generate } from 'mqtt-packet';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Incoming, overSocket } from '../../src/broker/transport.js';
import { PacketError } from '../../src/mqtt/codes.js';
import { ProcessorShare, type ShareUser, shareFault } from '../../src/network/processor-share.js';
import { TlsHandshakes, type TlsHandshakesOptions } from '../../src/network/tls-handshakes.js';
import { SiteModel } from '../../src/site/site-model.js';

/** Works for this long in each turn, this many times, and notes its name. */
function worker(turns: ProcessorShare, line: string, times: number, done: string[], workMs = 0) {
  const taker: ShareUser & { left: number } = {
    line,
    left: times,
    takeTurn() {
      done.push(line);
      const untilMs = performance.now() + workMs;
      while (performance.now() < untilMs);
      taker.left--;
      if (taker.left > 0) turns.want(taker);
    },
  };
  return taker;
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await setTimeout(1);
}

it('gives a network of one connection as many turns as one of a hundred', async () => {
  const turns = new ProcessorShare();
  const done: string[] = [];
  for (let index = 0; index < 100; index++) turns.want(worker(turns, '192.0.2.1', 5, done));
  turns.want(worker(turns, '192.0.2.2', 5, done));
  await until(() => done.length === 505);
  expect(done.slice(0, 10)).toEqual(Array(5).fill(['192.0.2.1', '192.0.2.2']).flat());
});

it('leaves half of the time to others on the event loop', async () => {
  const turns = new ProcessorShare();
  const done: string[] = [];
  for (let index = 0; index < 100; index++) turns.want(worker(turns, 'flood', 2, done, 1));
  const startedAtMs = performance.now();
  let mostAtOnce = 0;
  while (done.length < 200) {
    const before = done.length;
    await nextImmediate();
    mostAtOnce = Math.max(mostAtOnce, done.length - before);
  }
  expect(performance.now() - startedAtMs).toBeGreaterThan(350);
  expect(mostAtOnce).toBeLessThan(10);
});

it('counts the promises of a turn towards its time', async () => {
  const turns = new ProcessorShare();
  let rounds = 0;
  let handled = 0;
  for (let index = 0; index < 30; index++) {
    turns.want({
      line: 'flood',
      takeTurn: () => {
        void Promise.resolve().then(() => {
          const untilMs = performance.now() + 5;
          while (performance.now() < untilMs);
          handled++;
        });
      },
    });
  }
  while (handled < 30) {
    rounds++;
    await nextImmediate();
  }
  expect(rounds).toBeGreaterThanOrEqual(30);
});

it('lets four requests of a client wait for the store at a time, without delaying others', async () => {
  const turns = new ProcessorShare();
  const asked: string[] = [];
  const releases: (() => void)[] = [];
  const ask = (line: string) =>
    turns.want({
      line,
      takeTurn: () => {
        asked.push(line);
        releases.push(turns.hold(line));
      },
    });
  for (let index = 0; index < 6; index++) ask('slow');
  await until(() => asked.length === 4);
  for (let index = 0; index < 3; index++) ask('other');
  await until(() => asked.length === 7);
  expect(asked).toEqual([...Array(4).fill('slow'), ...Array(3).fill('other')]);
  const [first] = releases;
  // Ending it twice counts once; one that never ends counts for a quarter of a second.
  first?.();
  first?.();
  await until(() => asked.length === 8);
  expect(asked.at(-1)).toBe('slow');
  const startedAtMs = performance.now();
  await until(() => asked.length === 9);
  expect(performance.now() - startedAtMs).toBeGreaterThan(100);
});

it('forgets a user that leaves', async () => {
  const turns = new ProcessorShare();
  const done: string[] = [];
  const gone = worker(turns, 'gone', 1, done);
  turns.want(gone);
  turns.want(worker(turns, 'there', 1, done));
  turns.leave(gone);
  await until(() => done.length === 1);
  expect(done).toEqual(['there']);
});

it('reports who used how much', async () => {
  const turns = new ProcessorShare();
  const done: string[] = [];
  let nowMs = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  onTestFinished(() => clock.mockRestore());
  for (const [line, workMs] of [
    ['heavy', 3],
    ['light', 1],
  ] as const) {
    const user: ShareUser = {
      line,
      takeTurn() {
        done.push(line);
        nowMs += workMs;
        if (done.length < 20) turns.want(user);
      },
    };
    turns.want(user);
  }
  await until(() => done.length >= 20);
  await nextImmediate();
  const { pausedMs, usedMs } = turns.takeUsage();
  expect(Object.fromEntries(usedMs)).toEqual({ heavy: 30, light: 10 });
  expect(pausedMs).toBeGreaterThan(10);
  expect(turns.takeUsage().usedMs.size).toBe(0);
});

const usage = (tokenMs: number) =>
  new Map([
    ['address:192.0.2.1', 600],
    ['token:t-1', tokenMs],
  ]);

it.each([
  ['uses a quarter of the processor, though nobody waits', 1_300, 0],
  ['asks for most of it, when work had to pause', 700, 1_300],
])('names the client that %s', (_what, tokenMs, pausedMs) => {
  const takeUsage = () => ({ pausedMs, usedMs: usage(tokenMs) });
  const fault = shareFault({ takeUsage }, new SiteModel());
  expect(fault).toMatchObject({
    code: 'processor-busy',
    subject: { type: 'access-token', id: 't-1' },
  });
});

it('names nobody while there is enough for everybody', () => {
  const takeUsage = () => ({ pausedMs: 700, usedMs: usage(700) });
  expect(shareFault({ takeUsage }, new SiteModel())).toBeUndefined();
  expect(shareFault(new ProcessorShare(), new SiteModel())).toBeUndefined();
});

const TLS = {
  cert: readFileSync('test/harness/tls/localhost.crt'),
  key: readFileSync('test/harness/tls/localhost.key'),
};

/** A TLS server that says hello, and the lines of its log. */
async function start(options: Partial<TlsHandshakesOptions> = {}) {
  const lines: string[] = [];
  const handshakes = new TlsHandshakes({
    tls: TLS,
    turns: new ProcessorShare(),
    log: pino({}, { write: (line: string) => lines.push(line) }),
    ...options,
  });
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    handshakes.accept(socket, (secured) => {
      secured.on('error', () => undefined);
      secured.write('hello');
    });
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

  it('uses the turns of its network, separate from those of requests', async () => {
    const turns = new ProcessorShare();
    const { port } = await start({ turns });
    await greeted(client(port));
    await expect.poll(() => [...turns.takeUsage().usedMs.keys()]).toEqual(['TLS of 127.0.0.1']);
  });

  it('fails with an RSA certificate when the client offers no forward secrecy', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'gateway-rsa-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const [key, cert] = [join(directory, 'key.pem'), join(directory, 'cert.pem')];
    const make = 'req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost'.split(' ');
    execFileSync('openssl', [...make, '-keyout', key, '-out', cert], { stdio: 'ignore' });
    const { port } = await start({ tls: { key: readFileSync(key), cert: readFileSync(cert) } });
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
