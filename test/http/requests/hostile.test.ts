import { once } from 'node:events';
import { connect } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyText } from '../../former/any-text.js';
import { ADMIN_TOKEN } from '../../former/gateway/running-gateway.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { type Answer, failure, problemOf, rawExchange } from '../client.js';
import { basic, downloadUrl, prepare, put } from '../footage/cameras.js';
import { MAX_BODY_BYTES, startGateway, type TestGateway, useGateway } from '../harness.js';
import { fill, routesOf } from '../routes.js';
import { encodedText, hostileRequest, type Target, targetText } from './hostile-input.js';

const redis = useRedis();
const running = useGateway(redis);
const RUNS = 100;

/** Asserts what must hold for any answer. */
function isSound(answer: Answer, isHead: boolean): void {
  expect(answer.status).toBeLessThan(500);
  expect(answer.headers['x-request-id']).toMatch(/^[A-Za-z0-9._:-]{1,128}$/);
  if (answer.status >= 400 && !isHead) problemOf(answer);
  if (isHead) expect(answer.text).toBe('');
}

async function targetOf(gateway: TestGateway): Promise<Target> {
  const locationId = await gateway.createLocation();
  const deviceId = await gateway.createDevice(locationId);
  const camera = await gateway.createCamera(locationId);
  const uploads = [await prepare(gateway, camera), await prepare(gateway, camera)];
  const [kept] = uploads;
  if (kept !== undefined) await put(kept.uploadUrl, Buffer.from('a recording'));
  const downloads = await Promise.all(uploads.map(({ key }) => downloadUrl(gateway, key)));
  const urls = [...uploads.map(({ uploadUrl }) => uploadUrl), ...downloads];
  return {
    routes: routesOf(),
    ids: { locationId, deviceId, ...(await gateway.placeInGroup(locationId, deviceId)) },
    adminToken: ADMIN_TOKEN,
    camera: {
      id: camera.id,
      authorization: basic(camera.id, camera.secret)['Authorization'] ?? '',
    },
    signed: urls.map((url) => url.slice(new URL(url).origin.length)),
    maxBodyBytes: MAX_BODY_BYTES,
  };
}

describe('no request makes the gateway fail:', () => {
  it('hostile parameters, queries, header fields and bodies on every route', async () => {
    const gateway = await startGateway(redis);
    const seen = new Set<string>();
    const request = hostileRequest(await targetOf(gateway));
    await fc.assert(
      fc.asyncProperty(request, async ({ method, path, headers, body }) => {
        const sent = body === undefined ? {} : { body };
        const answer = await gateway.call(method, path, { ...sent, headers });
        isSound(answer, false);
        seen.add(`${method} ${answer.status}`);
      }),
      { numRuns: RUNS * 3 },
    );
    // Some requests get past the first checks.
    const inside = ['GET 200', 'POST 400', 'PATCH 400', 'DELETE 404'];
    expect(inside.filter((one) => !seen.has(one))).toEqual([]);
    expect((await gateway.admin('GET', '/care-homes')).status).toBe(200);
  });

  it('hostile paths with every method', async () => {
    const gateway = await startGateway(redis);
    const { routes, ids } = await targetOf(gateway);
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

  it('bytes that are barely HTTP', async () => {
    const gateway = running();
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
      anyText({ maxLength: 20 }),
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

/** Sends the bytes, half-closes, and reads until the server hangs up. */
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

  it('announces more than the limit is refused before sending it', async () => {
    const gateway = running();
    const answer = await rawExchange(gateway.port, head('Content-Length: 1000000000'));
    expect(failure(answer)).toBe('413 body-too-large');
  });

  it('sends more than the limit without end is refused', async () => {
    const gateway = running();
    const chunk = `1000\r\n${'x'.repeat(4096)}\r\n`.repeat(3);
    const answer = await rawExchange(gateway.port, head('Transfer-Encoding: chunked') + chunk);
    expect(failure(answer)).toBe('413 body-too-large');
  });

  it('disconnects in the middle of a body does no harm', async () => {
    const gateway = await startGateway(redis);
    const socket = connect({ port: gateway.port, host: '127.0.0.1' });
    socket.write(`${head('Content-Length: 100')}{"name"`);
    // Requests are handled in turns, so the first has been handled by the time of this answer.
    await gateway.call('GET', '/healthz');
    socket.resetAndDestroy();
    await expect
      .poll(() => gateway.logged.filter((line) => line.includes('"POST"')))
      .toEqual([expect.stringContaining('"status":400')]);
    expect((await gateway.call('GET', '/healthz')).status).toBe(200);
    expect(gateway.logged.filter((line) => line.includes('"level":50'))).toEqual([]);
  });
});
