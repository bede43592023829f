import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ProcessorShare } from '../../src/network/processor-share.js';
import { TlsHandshakes, type TlsHandshakesOptions } from '../../src/network/tls-handshakes.js';

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
    admits: () => true,
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

  it('waits when its address has had too many, and continues when permitted', async () => {
    let left = 2;
    const { port } = await start({ admits: () => left-- > 0 });
    await Promise.all([greeted(client(port)), greeted(client(port))]);
    const waiting = client(port);
    const waited = once(waiting, 'data');
    await expect.poll(() => left).toBeLessThan(-2);
    expect(waiting.bytesRead).toBe(0);
    left = 1;
    await waited;
  });

  it('ends at its timeout when the client is silent or slow, or is waiting', async () => {
    const { port } = await start({ handshakeTimeoutMs: 100, admits: () => false });
    const silent = connect({ port, host: '127.0.0.1' });
    const slow = connect({ port, host: '127.0.0.1' });
    slow.write(Buffer.from([22, 3, 1]));
    const waiting = client(port);
    const closed = [silent, slow, waiting].map((socket) => {
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
