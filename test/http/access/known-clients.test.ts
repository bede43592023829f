import { OpenAPIHono } from '@hono/zod-openapi';
import { pino } from 'pino';
import { Histogram } from 'prom-client';
import { expect, it, onTestFinished } from 'vitest';
import type { HttpEnv } from '../../../src/http/http-env.js';
import { requestContext } from '../../../src/http/request-context.js';
import { createHttpListener } from '../../../src/http/server/listener.js';
import { KnownNetworks } from '../../../src/site/access/known-networks.js';
import { rawText } from '../client.js';
import { FAIRNESS } from '../operation/fairness.js';

const ADMIN = { id: 'admin', name: 'admin', grants: [], isValid: () => true };
const log = pino({ level: 'silent' });

/** Starts the listener with the outermost layer of the app, which makes a client known. */
async function start() {
  const knownNetworks = new KnownNetworks();
  const requestDurations = new Histogram({
    name: 'durations',
    help: 'Durations.',
    registers: [],
    labelNames: ['method', 'route', 'status'],
  });
  const app = new OpenAPIHono<HttpEnv>();
  app.use(requestContext({ knownNetworks, requestDurations, log, elapsed: Date.now }));
  app.get('/:who', (c) => {
    // As authentication does for a valid token.
    if (c.req.param('who') === 'admin') c.set('caller', ADMIN);
    return c.text('');
  });
  const listener = createHttpListener({ app, host: '127.0.0.1', port: 0, log, ...FAIRNESS });
  onTestFinished(() => listener.stop(0));
  return { knownNetworks, port: (await listener.start()).port };
}

it('makes the network of an authenticated client known, and charges its connection’s turns to its token', async () => {
  const { knownNetworks, port } = await start();
  const ask = (path: string, last = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${last}\r\n`;
  const twice = (path: string) => rawText(port, ask(path) + ask(path, 'Connection: close\r\n'));
  FAIRNESS.turns.takeUsage();
  await twice('/stranger');
  expect(knownNetworks.has('127.0.0.1')).toBe(false);
  expect([...FAIRNESS.turns.takeUsage().usedMs.keys()]).toEqual(['127.0.0.1']);
  await twice('/admin');
  expect(knownNetworks.has('127.0.0.1')).toBe(true);
  expect([...FAIRNESS.turns.takeUsage().usedMs.keys()]).toContain('token:admin');
});
