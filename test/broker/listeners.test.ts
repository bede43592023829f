import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { ConnectionRate } from '../../src/broker/connection-rate.js';
import { TcpListener } from '../../src/broker/listeners.js';
import { ProcessorShare } from '../../src/processor-share.js';

const TLS = {
  cert: readFileSync('test/harness/tls/localhost.crt', 'utf8'),
  key: readFileSync('test/harness/tls/localhost.key', 'utf8'),
};

it('closes a connection on which no TLS handshake comes', async () => {
  const listener = new TcpListener({
    host: '127.0.0.1',
    port: 0,
    tls: TLS,
    handshakeTimeoutMs: 50,
    turns: new ProcessorShare(),
    admitsHandshake: () => true,
    rate: new ConnectionRate(10, 100, Date.now),
    handle: () => expect.unreachable(),
    log: pino({ level: 'silent' }),
  });
  const { port } = await listener.start();
  onTestFinished(() => listener.stop());
  const silent = [1, 2, 3].map(() => connect({ port, host: '127.0.0.1' }));
  onTestFinished(() => {
    for (const socket of silent) socket.destroy();
  });
  await Promise.all(silent.map((socket) => once(socket, 'close')));
});
