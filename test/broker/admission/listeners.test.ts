import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import {
  TcpListener,
  type TcpListenerOptions,
  WebSocketListener,
} from '../../../src/broker/admission/listeners.js';
import { ProcessorShare } from '../../../src/network/processor-share.js';

const TLS = {
  cert: readFileSync('test/harness/tls/localhost.crt', 'utf8'),
  key: readFileSync('test/harness/tls/localhost.key', 'utf8'),
};

const NONE = { admits: () => false };

const DEFAULTS: TcpListenerOptions = {
  host: '127.0.0.1',
  port: 0,
  turns: new ProcessorShare(),
  admitsHandshake: () => true,
  rate: { admits: () => true },
  onRefused: () => undefined,
  handle: () => expect.unreachable(),
  log: pino({ level: 'silent' }),
};

async function start(options: Partial<TcpListenerOptions>): Promise<number> {
  const listener = new TcpListener({ ...DEFAULTS, ...options });
  const { port } = await listener.start();
  onTestFinished(() => listener.stop());
  return port;
}

function client(port: number): Socket {
  const socket = connect({ port, host: '127.0.0.1' });
  onTestFinished(() => {
    socket.destroy();
  });
  return socket.on('error', () => undefined);
}

it('closes a connection on which no TLS handshake arrives', async () => {
  const port = await start({ tls: TLS, handshakeTimeoutMs: 50 });
  const silent = [1, 2, 3].map(() => client(port));
  await Promise.all(silent.map((socket) => once(socket, 'close')));
});

it('serves no client whose TLS handshake ends after it was stopped', async () => {
  const listener = new TcpListener({
    ...DEFAULTS,
    tls: TLS,
    admitsHandshake: () => {
      listener.stop();
      return true;
    },
  });
  const { port } = await listener.start();
  const socket = connectTls({ port, rejectUnauthorized: false }).on('error', () => undefined);
  await once(socket.resume(), 'close');
});

it.each([undefined, TLS])(
  'closes a connection when its address has opened too many',
  async (tls) => {
    const refused: string[] = [];
    const onRefused: TcpListenerOptions['onRefused'] = (_address, { code }) => refused.push(code);
    const admitsHandshake = () => expect.unreachable();
    const port = await start({ tls, rate: NONE, admitsHandshake, onRefused });
    await once(client(port), 'close');
    expect(refused).toEqual(['connecting-too-fast']);
  },
);

it('closes a WebSocket when its address has opened too many connections', async () => {
  const webSockets = new WebSocketListener({
    maxPacketBytes: 1_024,
    rate: NONE,
    onRefused: () => undefined,
    handle: () => expect.unreachable(),
    refuse: () => expect.unreachable(),
    watch: { exceeded: () => expect.unreachable() },
  });
  const server = createServer().on('upgrade', webSockets.upgrade.bind(webSockets));
  server.listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.close();
  });
  await once(server, 'listening');
  const bound = server.address();
  const socket = client(typeof bound === 'object' ? (bound?.port ?? 0) : 0);
  const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n';
  const key = `Sec-WebSocket-Key: ${Buffer.alloc(16).toString('base64')}\r\n`;
  socket.write(`GET /mqtt HTTP/1.1\r\nHost: x\r\n${upgrade}${key}\r\n`);
  await once(socket.resume(), 'close');
  expect(socket.bytesRead).toBe(0);
});
