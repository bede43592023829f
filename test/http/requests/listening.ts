import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import {
  createHttpListener,
  type HttpListener,
  type HttpListenerOptions,
} from '../../../src/http/server/listener.js';
import { FAIRNESS } from '../operation/fairness.js';

/** Much shorter than the timeout of an idle connection, much longer than a prompt end. */
export const SOON_MS = 4_000;
export const FAR_DEADLINE_MS = 60_000;
export const MORE_THAN_SOCKETS_BUFFER = 'x'.repeat(16 * 1024 * 1024);
export const TLS = {
  cert: readFileSync('test/harness/tls/localhost.crt'),
  key: readFileSync('test/harness/tls/localhost.key'),
};
export const log = pino({ level: 'silent' });
/** Records whom the listener names. */
export class Named {
  readonly named: string[] = [];
  exceeded(quota: string, holder: string): void {
    this.named.push(`${quota} ${holder}`);
  }
}

export const hello = { fetch: () => new Response('hello') };

export async function start(options: Partial<HttpListenerOptions> = {}) {
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
export async function stopMs(listener: HttpListener, deadlineMs: number): Promise<number> {
  const startedAtMs = Date.now();
  await listener.stop(deadlineMs);
  return Date.now() - startedAtMs;
}

/** An app that holds its requests until they are released. */
export function heldApp() {
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

export async function connected(
  port: number,
  send = '',
  localAddress = '127.0.0.1',
): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  socket.on('error', () => undefined);
  onTestFinished(() => {
    socket.destroy();
  });
  await once(socket, 'connect');
  socket.write(send);
  return socket;
}
