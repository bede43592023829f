import { once } from 'node:events';
import { connect } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ALARM_KINDS } from '../../src/domain/alarms.js';
import type { Answer } from './client.js';
import { failure, problemOf, rawExchange } from './client.js';
import {
  ADMIN_TOKEN,
  MAX_BODY_BYTES,
  startGateway,
  type TestGateway,
  useRedis,
} from './harness.js';
import { fill, routesOf } from './routes.js';

const redis = useRedis();
const RUNS = 400;

/** What Node's client lets through in a request target. */
const targetText = fc.string({
  unit: fc.integer({ min: 0x21, max: 0xff }).map((code) => String.fromCharCode(code)),
  maxLength: 30,
});
const headerText = fc.string({
  unit: fc
    .integer({ min: 0x20, max: 0xff })
    .filter((code) => code !== 0x7f)
    .map((code) => String.fromCharCode(code)),
  maxLength: 30,
});
const encodedText = fc.oneof(
  fc
    .string({ unit: 'binary', maxLength: 20 })
    .map((text) => encodeURIComponent(text.toWellFormed())),
  fc.constantFrom(
    '..',
    '%2e%2e',
    '%2F',
    '%00',
    '__proto__',
    'constructor',
    '*',
    '%F0%9F%91%B5',
    '%',
  ),
);

const queryName = fc.oneof(
  fc.constantFrom('before', 'after', 'order', 'limit', 'cursor', 'kinds', '__proto__', 'kinds[]'),
  encodedText,
);
const queryValue = fc.oneof(
  encodedText,
  targetText,
  fc.constantFrom(...ALARM_KINDS, '1', '100', '9'.repeat(400), 'asc', '9999-12-31T23:59:59Z'),
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
);
const query = fc
  .array(fc.tuple(queryName, queryValue), { maxLength: 4 })
  .map((pairs) => pairs.map(([name, value]) => `${name}=${value}`).join('&'));

const body = fc.oneof(
  fc.constant(undefined),
  fc.json({ maxDepth: 5 }),
  fc.uint8Array({ maxLength: 2 * MAX_BODY_BYTES }).map((bytes) => Buffer.from(bytes)),
  fc.constantFrom(
    '[',
    '['.repeat(MAX_BODY_BYTES),
    '{"a":'.repeat(800),
    '{"__proto__":{"name":"x"}}',
  ),
  fc
    .record(
      {
        name: fc.anything({ withNullPrototype: true }),
        id: fc.oneof(fc.uuid(), fc.string()),
        grants: fc.array(
          fc.record(
            {
              location: fc.oneof(fc.constant('*'), fc.uuid(), fc.string()),
              group: fc.oneof(fc.uuid(), fc.constant(null)),
              role: fc.oneof(fc.constantFrom('viewer', 'manager', 'admin'), fc.string()),
            },
            { requiredKeys: [] },
          ),
        ),
        expiresAt: fc.oneof(fc.string(), fc.integer(), fc.constant('2999-01-01T00:00:00Z')),
      },
      { requiredKeys: [] },
    )
    .map((value) => JSON.stringify(value)),
);

const headers = fc.record(
  {
    'Content-Type': fc.oneof(
      fc.constantFrom('application/json', 'application/merge-patch+json', 'multipart/form-data'),
      headerText,
    ),
    'Content-Encoding': headerText,
    'X-Request-Id': headerText,
    'X-HTTP-Method-Override': fc.constantFrom('DELETE', 'GET'),
    Accept: headerText,
    Cookie: headerText,
    Range: fc.constant('bytes=0-1'),
    'If-None-Match': fc.constant('*'),
  },
  { requiredKeys: [] },
);

/** What holds for any answer to whatever request. */
function isSound(answer: Answer, isHead: boolean): void {
  expect(answer.status).toBeLessThan(500);
  expect(answer.headers['x-request-id']).toMatch(/^[A-Za-z0-9._:-]{1,128}$/);
  if (answer.status >= 400 && !isHead) problemOf(answer);
  if (isHead) expect(answer.text).toBe('');
}

/** Whoever may do everything gets furthest, so he is the most dangerous. */
const authorization = fc.oneof(
  { weight: 4, arbitrary: fc.constant(`Bearer ${ADMIN_TOKEN}`) },
  { weight: 1, arbitrary: headerText },
);

async function knownIds(gateway: TestGateway): Promise<Record<string, string>> {
  const locationId = await gateway.createLocation();
  return { locationId, deviceId: await gateway.createDevice(locationId) };
}

describe('no request makes the gateway fail:', () => {
  it('hostile bodies, queries and headers on every route', async () => {
    const gateway = await startGateway(redis);
    const ids = await knownIds(gateway);
    // Deleting what the others work on would leave them nothing but 404.
    const routes = routesOf(gateway.app).filter(({ method }) => method !== 'DELETE');
    const request = fc.tuple(fc.constantFrom(...routes), query, body, headers, authorization);
    await fc.assert(
      fc.asyncProperty(request, async ([route, search, sent, more, Authorization]) => {
        const answer = await gateway.call(route.method, `${fill(route.path, ids)}?${search}`, {
          ...(sent === undefined ? {} : { body: sent }),
          headers: { ...more, Authorization },
        });
        isSound(answer, false);
      }),
      { numRuns: RUNS * 2 },
    );
    expect((await gateway.admin('GET', '/care-homes')).status).toBe(200);
  });

  it('hostile paths with every method', async () => {
    const gateway = await startGateway(redis);
    const ids = await knownIds(gateway);
    const routes = routesOf(gateway.app);
    const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PURGE'];
    const id = fc.oneof(encodedText, targetText);
    const path = fc.oneof(
      fc
        .tuple(fc.constantFrom(...routes), id, id)
        .map(([route, first, second]) => fill(route.path, { locationId: first, deviceId: second })),
      fc
        .tuple(fc.constantFrom(...routes), id)
        .map(([route, second]) => fill(route.path, { ...ids, deviceId: second, tokenId: second })),
      fc.tuple(fc.constantFrom(...routes), id).map(([route, rest]) => fill(route.path, ids) + rest),
      fc.array(encodedText).map((levels) => `/${levels.join('/')}`),
      targetText.map((text) => `/${text}`),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...methods), path, async (method, hostile) => {
        isSound(await gateway.admin(method, hostile), method === 'HEAD');
      }),
      { numRuns: RUNS },
    );
    expect((await gateway.admin('GET', '/care-homes')).json).toHaveLength(1);
  });

  it('bytes that are hardly HTTP', async () => {
    const gateway = await startGateway(redis);
    const line = fc.oneof(
      fc.constantFrom(
        'GET /healthz HTTP/1.1',
        'POST /care-homes HTTP/1.1',
        'Host: x',
        'Host: ',
        'Host: [::1',
        'Content-Length: 5',
        'Content-Length: -1',
        'Transfer-Encoding: chunked',
        'Transfer-Encoding: gzip',
        'Expect: 100-continue',
        'Connection: Upgrade',
        'Upgrade: websocket',
        `Authorization: Bearer ${ADMIN_TOKEN}`,
        'Content-Type: application/json',
        '',
        '5\r\n{"a":',
        '0\r\n',
      ),
      fc.string({ unit: 'binary', maxLength: 20 }),
    );
    const message = fc
      .tuple(fc.boolean(), fc.array(line, { maxLength: 8 }))
      .map(([isRequest, lines]) => [...(isRequest ? ['GET / HTTP/1.1'] : []), ...lines, '', '']);
    await fc.assert(
      fc.asyncProperty(message, async (lines) => {
        const received = await halfClosed(gateway.port, lines.join('\r\n'));
        for (const [, status] of received.matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
          expect(Number(status)).toBeLessThan(500);
        }
      }),
      { numRuns: RUNS },
    );
    expect((await gateway.call('GET', '/healthz')).status).toBe(200);
  });
});

/** Sends everything, says that this was all, and reads what comes until the server hangs up. */
async function halfClosed(port: number, bytes: string): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' });
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.on('error', () => undefined);
  socket.setTimeout(10_000, () => {
    chunks.push(Buffer.from('HTTP/1.1 599 Nothing came'));
    socket.destroy();
  });
  socket.end(bytes);
  await once(socket, 'close');
  return Buffer.concat(chunks).toString('latin1');
}

describe('a client that', () => {
  const head = (length: string) =>
    [
      'POST /care-homes HTTP/1.1',
      'Host: x',
      `Authorization: Bearer ${ADMIN_TOKEN}`,
      'Content-Type: application/json',
      length,
      '',
      '',
    ].join('\r\n');

  it('announces more than is allowed is told so before it has sent it', async () => {
    const gateway = await startGateway(redis);
    const answer = await rawExchange(gateway.port, head('Content-Length: 1000000000'));
    expect(failure(answer)).toBe('413 body-too-large');
  });

  it('sends more than is allowed, and never ends, is told so', async () => {
    const gateway = await startGateway(redis);
    const chunk = `1000\r\n${'x'.repeat(4096)}\r\n`.repeat(3);
    const answer = await rawExchange(gateway.port, head('Transfer-Encoding: chunked') + chunk);
    expect(failure(answer)).toBe('413 body-too-large');
  });

  it('hangs up in the middle of a body does no harm', async () => {
    const gateway = await startGateway(redis);
    const socket = connect({ port: gateway.port, host: '127.0.0.1' });
    socket.write(`${head('Content-Length: 100')}{"name"`, () => socket.resetAndDestroy());
    await expect
      .poll(() => gateway.logged.filter((line) => line.includes('"POST"')))
      .toEqual([expect.stringContaining('"status":400')]);
    expect((await gateway.call('GET', '/healthz')).status).toBe(200);
    expect(gateway.logged.filter((line) => line.includes('"level":50'))).toEqual([]);
  });
});
