import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { ADMIN_TOKEN } from '../../former/gateway/running-gateway.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { failure, rawExchange, rawText } from '../client.js';
import { startGateway, useGateway } from '../harness.js';
import { fill, routesOf, SIGNED_PATHS } from '../routes.js';

const redis = useRedis();
const running = useGateway(redis);
const UUID = /^[0-9a-f-]{36}$/;

const lineSchema = z.looseObject({ msg: z.string(), clientRequestId: z.string().optional() });

/** The lines about requests in a gateway's log. */
function requestsIn(logged: readonly string[]) {
  const lines = logged.map((line) => lineSchema.parse(JSON.parse(line)));
  return lines.filter(({ msg }) => msg === 'http request');
}

function rawGet(target: string, lines: readonly string[] = ['Host: gateway']): string {
  return `GET ${target} HTTP/1.1\r\n${[...lines, 'Connection: close'].join('\r\n')}\r\n\r\n`;
}

describe('paths', () => {
  it('answer 404 without a route', async () => {
    const gateway = running();
    for (const path of ['/nowhere', '/care-homes/', '/care-homes//devices', '/access-tokens/a/b']) {
      expect(`${path} ${failure(await gateway.admin('GET', path))}`).toBe(`${path} 404 not-found`);
    }
  });

  it('answer 404 without a route, whatever the method', async () => {
    const gateway = running();
    for (const method of ['OPTIONS', 'PUT', 'TRACE']) {
      expect(failure(await gateway.call(method, '/nowhere'))).toBe('404 not-found');
    }
  });

  it('answer HEAD like GET, without the body', async () => {
    const gateway = running();
    const locationId = await gateway.createLocation();
    const deviceId = await gateway.createDevice(locationId);
    for (const { method, path } of routesOf()) {
      if (method !== 'GET' || SIGNED_PATHS.includes(path)) continue;
      const filled = fill(path, { locationId, deviceId });
      const [get, head] = [await gateway.admin('GET', filled), await gateway.admin('HEAD', filled)];
      expect(`${path} ${head.status} ${head.text}`).toBe(`${path} ${get.status} `);
      expect(head.headers['content-type']).toBe(get.headers['content-type']);
    }
    expect((await gateway.call('HEAD', '/care-homes')).status).toBe(401);
  });
});

describe('the request target', () => {
  it('is refused with 400 when its percent-encoding or UTF-8 is broken', async () => {
    const gateway = running();
    const targets = ['/%zz', '/care-homes/%', '/care-homes?x=%ff', '/care-homes/%c3%28/devices'];
    for (const target of targets) {
      expect(`${target} ${failure(await gateway.admin('GET', target))}`).toBe(
        `${target} 400 invalid-request`,
      );
    }
  });

  it('may be absolute', async () => {
    const gateway = running();
    const answer = await rawExchange(gateway.port, rawGet('http://gateway/healthz'));
    expect(answer.status).toBe(200);
  });

  it('is refused with 400 when malformed, as is a malformed Host', async () => {
    const gateway = running();
    const requests = [
      rawGet('*'),
      rawGet('/care-homes\\x'),
      rawGet('/healthz', ['Host: a/b']),
      rawGet('/healthz', []),
      rawGet('/healthz', ['Host: a', 'Host: b']),
      rawGet('/healthz', ['Host: a', 'host: a']),
      'GET /healthz HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n',
      'GET /healthz HTTP/1.1\r\nHost: a\r\nno header line\r\n\r\n',
      'GET /healthz HTTP/7.7\r\n\r\n',
      'GET\r\n\r\n',
      'FETCH /healthz HTTP/1.1\r\nHost: a\r\n\r\n',
      '\u0016\u0003\u0001 this is TLS',
    ];
    for (const request of requests) {
      const answer = await rawExchange(gateway.port, request);
      expect(`${request} ${failure(answer)}`).toBe(`${request} 400 invalid-request`);
    }
  });

  it('does not need a Host in HTTP/1.0', async () => {
    const gateway = running();
    expect((await rawExchange(gateway.port, 'GET /healthz HTTP/1.0\r\n\r\n')).status).toBe(200);
  });

  it('is refused with 431 when huge', async () => {
    const gateway = running();
    const answer = await rawExchange(gateway.port, rawGet(`/${'x'.repeat(20_000)}`));
    expect(failure(answer)).toBe('431 headers-too-large');
  });
});

it('ignores an unknown expectation', async () => {
  const gateway = running();
  const request = rawGet('/healthz', ['Host: gateway', 'Expect: the-spanish-inquisition']);
  expect((await rawExchange(gateway.port, request)).status).toBe(200);
});

describe('a client that waits for 100 Continue', () => {
  const waiting = (more: string[]) =>
    ['POST /care-homes HTTP/1.1', 'Host: x', 'Expect: 100-continue', ...more, '', ''].join('\r\n');
  const authorized = [`Authorization: Bearer ${ADMIN_TOKEN}`, 'Content-Type: application/json'];

  it.each([
    ['401 Unauthorized', ['Content-Length: 15']],
    ['413 Payload Too Large', [...authorized, 'Content-Length: 100000']],
    ['415 Unsupported Media Type', [authorized[0] ?? '', 'Content-Length: 15']],
  ])('is answered immediately when the head is enough to decide: %s', async (status, more) => {
    const gateway = running();
    const received = await rawText(gateway.port, waiting(more));
    expect(received.split('\r\n')[0]).toBe(`HTTP/1.1 ${status}`);
    expect(received).toMatch(/\r\nconnection: close\r\n/i);
  });

  it('is told to send its body, and answered, when the head is valid', async () => {
    const gateway = running();
    const socket = connect({ port: gateway.port, host: '127.0.0.1' });
    onTestFinished(() => {
      socket.destroy();
    });
    socket.write(waiting([...authorized, 'Content-Length: 15']));
    expect(String((await once(socket, 'data'))[0])).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    socket.write('{"name":"Haus"}');
    expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 201 Created\r\n/);
  });
});

it('closes a connection with an unread body, and keeps it after a body that has arrived', async () => {
  const gateway = running();
  const head = 'POST /care-homes HTTP/1.1\r\nHost: x\r\nContent-Length: 15\r\n';
  const unread = await rawText(gateway.port, `${head}\r\n{"nam`);
  expect(unread).toMatch(/^HTTP\/1\.1 401 .*\r\nconnection: close\r\n/is);
  const last = `${head}Connection: close\r\n\r\n{"name":"Haus"}`;
  const both = await rawText(gateway.port, `${head}\r\n{"name":"Haus"}${last}`);
  expect(both.match(/connection: (keep-alive|close)/gi)).toEqual([
    'Connection: keep-alive',
    'Connection: close',
  ]);
});

it('asks for a WebSocket when MQTT over WebSocket is opened as a page', async () => {
  const gateway = running();
  const answer = await gateway.call('GET', '/mqtt');
  expect(failure(answer)).toBe('426 upgrade-required');
  expect(answer.headers).toMatchObject({ upgrade: 'websocket', connection: 'close, Upgrade' });
  expect(failure(await gateway.call('POST', '/mqtt'))).toBe('405 method-not-allowed');
});

describe('every response', () => {
  it('has a unique id and the security headers', async () => {
    const gateway = running();
    const answers = [
      await gateway.admin('GET', '/care-homes'),
      await gateway.admin('POST', '/care-homes', { json: { name: 'Haus Buche' } }),
      await gateway.call('GET', '/healthz'),
      await gateway.call('GET', '/care-homes'),
      await gateway.call('GET', '/nowhere'),
      await gateway.call('PUT', '/care-homes'),
      await gateway.call('OPTIONS', '/care-homes'),
      await gateway.admin('GET', '/%zz'),
      await rawExchange(gateway.port, rawGet('*')),
      await rawExchange(gateway.port, 'nonsense\r\n\r\n'),
    ];
    for (const { headers } of answers) {
      expect(headers['x-request-id']).toMatch(UUID);
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['cache-control']).toBe('no-store');
    }
    expect(new Set(answers.map(({ headers }) => headers['x-request-id'])).size).toBe(
      answers.length,
    );
  });

  it('has an id that the caller cannot choose; the caller’s own is logged if harmless', async () => {
    const gateway = await startGateway(redis);
    const harmless = ['trace-1', 'a'.repeat(128), '00-4bf92f:1.2_3', randomUUID()];
    const others = ['a'.repeat(129), 'two words', '<script>', '"', 'ä'];
    for (const id of [...harmless, ...others]) {
      const answer = await gateway.admin('GET', '/healthz', { headers: { 'X-Request-Id': id } });
      expect(answer.headers['x-request-id']).toMatch(UUID);
      expect(answer.headers['x-request-id']).not.toBe(id);
    }
    const logged = requestsIn(gateway.logged).map(({ clientRequestId }) => clientRequestId);
    expect(logged).toEqual([...harmless, ...others.map(() => undefined)]);
  });
});

it('logs one line per request, under its id', async () => {
  const gateway = await startGateway(redis);
  await gateway.admin('GET', '/care-homes?secret=1', { headers: { 'X-Request-Id': 'mine' } });
  const lines = requestsIn(gateway.logged);
  expect(lines).toEqual([
    expect.objectContaining({
      requestId: expect.stringMatching(UUID),
      clientRequestId: 'mine',
      method: 'GET',
      path: '/care-homes',
      status: 400,
      durationMs: expect.any(Number),
      principal: 'admin',
    }),
  ]);
});
