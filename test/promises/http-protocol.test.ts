/**
 * What every route and every answer of the HTTP interface promises (contract 2): its methods, its exact path, its
 * header fields, other origins, and an answer while the store is away.
 *
 * The routes come from the app itself: a new one is held to all of this at once.
 */
import { randomUUID } from 'node:crypto';
import {
  type Answer,
  type Asking,
  expect,
  NO_LIMITS,
  rawAsk,
  rawText,
  readAnswer,
  testWith,
} from '../harness/index.js';
import {
  bodyIsOptional,
  DEVICE_PATHS,
  fill,
  furnished,
  mustBeEmpty,
  type Route,
  routesOf,
  SIGNED_PATHS,
} from './routes.js';

const ORIGIN = 'https://dashboard.example.org';
const test = testWith({
  env: {
    ...NO_LIMITS,
    GATEWAY_HTTP_ALLOWED_ORIGINS: `["${ORIGIN}", "http://localhost:3000"]`,
    GATEWAY_LOG_LEVEL: 'debug',
  },
});

const UUID = /^[0-9a-f-]{36}$/;

const getRoutes = () => routesOf().filter(({ method }) => method === 'GET');
/** Routes whose answers end: a stream of events goes on, and so does a connection for MQTT. */
const endingRoutes = () =>
  getRoutes().filter(({ path }) => !['/events', '/mqtt', ...SIGNED_PATHS].includes(path));

test('a query parameter that a route does not have is 400, by name', async ({ home }) => {
  const { askAt } = await furnished(home);
  /** Files have a digest in the query; signed URLs a signature; what is no HTTP exchange takes anything. */
  const pages = ['/', '/docs', '/docs/:file'];
  const others = [...pages, '/console/:file', '/mqtt', ...SIGNED_PATHS, ...DEVICE_PATHS];
  for (const route of routesOf().filter(({ path }) => !others.includes(path))) {
    const { method, path } = route;
    const json = method === 'GET' || method === 'DELETE' ? undefined : {};
    const { outcome, problem } = await askAt(
      route,
      { json },
      {},
      '?kind=fall&kind=noise&__proto__',
    );
    const errors = ['kind', '__proto__'].map((name) => {
      return { path: name, message: 'is not a known parameter' };
    });
    expect([method, path, outcome, problem.errors]).toEqual([
      method,
      path,
      '400 invalid-request',
      errors,
    ]);
  }
  for (const path of pages) expect((await home.ask('GET', `${fill(path)}?1234`)).status).toBe(200);
  for (const query of ['action=device.created', 'limit=1&Limit=2', '=1', 'kinds=fall', '=']) {
    expect((await home.ask('GET', `/audit?${query}`)).outcome).toBe('400 invalid-request');
  }
  // Permission comes first.
  for (const [token, status] of [
    [home.viewer.token, 403],
    [null, 401],
  ] as const) {
    expect((await home.ask('GET', '/audit?action=a', { token })).status).toBe(status);
  }
});

test('every path has its own methods, HEAD and OPTIONS only', async ({ home }) => {
  const paths = new Set(routesOf().map(({ path }) => path));
  expect(paths.size).toBeGreaterThan(20);
  for (const path of paths) {
    const methods = routesOf()
      .filter((one) => one.path === path)
      .map(({ method }) => method);
    const allowed = [...methods, 'OPTIONS', ...(methods.includes('GET') ? ['HEAD'] : [])].sort();
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND', 'OPTIONS']) {
      if (method !== 'OPTIONS' && allowed.includes(method)) continue;
      const answer = await home.ask(method, fill(path), { token: null });
      const allow = answer.headers.allow?.split(', ').sort();
      const status = method === 'OPTIONS' ? 204 : 405;
      expect([method, path, answer.status, allow]).toEqual([method, path, status, allowed]);
      if (status === 405 && method !== 'HEAD')
        expect(answer.problem.code).toBe('method-not-allowed');
    }
  }
});

test('a route matches its exact path only, and any text for an id', async ({ home }) => {
  const { askAt, ids } = await furnished(home);
  for (const path of new Set(routesOf().map((route) => fill(route.path, ids)))) {
    for (const beside of [`${path}/`, `${path}/x/y/z`, path.replace(/\/(?=[^/]*$)/, '//')]) {
      const { outcome } = await home.ask('GET', beside);
      expect([beside, outcome]).toEqual([beside, '404 not-found']);
    }
  }
  for (const method of ['OPTIONS', 'PUT', 'TRACE']) {
    expect((await home.ask(method, '/nowhere')).outcome).toBe('404 not-found');
  }
  for (const route of routesOf()) {
    const closed = [...SIGNED_PATHS, ...DEVICE_PATHS].includes(route.path) ? [401, 403] : [];
    for (const [, name = ''] of route.path.matchAll(/:(\w+)/g)) {
      for (const id of ['%2F..%2F', '__proto__']) {
        const { status } = await askAt(route, {}, { [name]: id });
        expect([400, 404, ...closed], `${route.method} ${route.path} ${id}`).toContain(status);
      }
    }
  }
});

test('a GET is answered alike with a body, as HEAD, by HTTP/1.0 and in a pipeline', async ({
  home,
  gateway,
}) => {
  const { askAt, ids } = await furnished(home);
  const bodies: Asking[] = [
    { headers: { 'Content-Type': 'x/y', 'Content-Encoding': 'z' }, body: Buffer.from([0xff, 0]) },
    { headers: { 'Transfer-Encoding': 'chunked' }, body: 'x'.repeat(64 * 1024) },
  ];
  const { token } = await home.token([{ location: '*', role: 'admin' }]);
  const line = `Host: x\r\nAuthorization: Bearer ${token}\r\n`;
  const expected: [string, string][] = [];
  for (const route of endingRoutes()) {
    const path = fill(route.path, ids);
    const plain = await home.ask('GET', path, { token });
    const type = plain.headers['content-type'] ?? '';
    for (const body of bodies) {
      const { status } = await askAt(route, { ...body, token });
      expect([path, status]).toEqual([path, plain.status]);
    }
    const head = await home.ask('HEAD', path, { token });
    const headType = head.headers['content-type'];
    expect([path, head.status, head.text, headType]).toEqual([path, plain.status, '', type]);
    const old = await rawAsk(gateway, `GET ${path} HTTP/1.0\r\n${line.slice(9)}\r\n`);
    expect([path, old.status]).toEqual([path, plain.status]);
    expected.push([String(plain.status), type]);
  }
  const requests = endingRoutes().map(({ path }) => `GET ${fill(path, ids)} HTTP/1.1\r\n${line}`);
  const bytes = `${requests.join('\r\n')}Connection: close\r\n\r\n`;
  const received = await rawText(gateway, bytes);
  const heads = received.matchAll(/HTTP\/1\.1 (\d{3}) [\s\S]*?\r\ncontent-type: ([^\r]*)\r\n/gi);
  expect(Array.from(heads, ([, status, type]) => [status, type])).toEqual(expected);
  expect((await home.ask('HEAD', '/care-homes', { token: null })).status).toBe(401);
  // A DELETE has no body either.
  for (const body of bodies) {
    expect((await home.ask('DELETE', `./rooms/${randomUUID()}`, body)).status).toBe(404);
  }
});

test('MQTT over WebSocket opened as a page asks for a WebSocket', async ({ home }) => {
  const answer = await home.ask('GET', '/mqtt', { token: null });
  expect(answer.outcome).toBe('426 upgrade-required');
  expect(answer.headers).toMatchObject({ upgrade: 'websocket', connection: 'close, Upgrade' });
});

test('every answer has an id of its own and the security headers', async ({ home, gateway }) => {
  const answers = [
    await home.ask('GET', '/care-homes'),
    await home.ask('POST', './groups', { json: { name: 'x' } }),
    await home.ask('GET', '/healthz', { token: null }),
    await home.ask('GET', '/care-homes', { token: null }),
    await home.ask('GET', '/nowhere'),
    await home.ask('PUT', '/care-homes'),
    await home.ask('OPTIONS', '/care-homes'),
    await home.ask('GET', '/%zz'),
    await rawAsk(gateway, 'GET * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'),
    await rawAsk(gateway, 'nonsense\r\n\r\n'),
  ];
  for (const { headers } of answers) {
    expect(headers['x-request-id']).toMatch(UUID);
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(headers['cache-control']).toBe('no-store');
  }
  const ids = answers.map(({ headers }) => headers['x-request-id']);
  expect(new Set(ids).size).toBe(ids.length);
});

test('each request is one line of the log, with a harmless id of the caller', async ({ home }) => {
  const harmless = ['trace-1', 'a'.repeat(128), '00-4bf92f:1.2_3', randomUUID()];
  const others = ['a'.repeat(129), 'two words', '<script>', '"', 'ä'];
  for (const id of [...harmless, ...others]) {
    const headers = { 'X-Request-Id': id };
    const answer = await home.ask('GET', '/care-homes?secret=1', { headers });
    const requestId = String(answer.headers['x-request-id']);
    expect(requestId).toMatch(UUID);
    expect(requestId).not.toBe(id);
    const lines = home.gateway.lines.filter((line) => line.includes(requestId));
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({
        msg: 'http request',
        requestId,
        method: 'GET',
        path: '/care-homes',
        status: 400,
        durationMs: expect.any(Number),
        principal: 'admin',
      }),
    ]);
    expect(lines.join().includes('clientRequestId')).toBe(harmless.includes(id));
    expect(lines.join()).not.toContain('secret=');
  }
});

const allowed = ({ headers }: Answer) => headers['access-control-allow-origin'];

test('a web application of an allowed origin reads every answer', async ({ home }) => {
  for (const Origin of [ORIGIN, 'http://localhost:3000']) {
    const headers = { Origin };
    const found = await home.ask('GET', home.path, { headers });
    expect(found.headers['access-control-expose-headers']).toContain('ETag');
    expect(found.headers.vary).toContain('Origin');
    expect(found.headers['access-control-allow-credentials']).toBeUndefined();
    const known = { ...headers, 'If-None-Match': String(found.headers.etag) };
    const answers = [
      found,
      await home.ask('GET', home.path, { headers: known }),
      await home.ask('GET', home.path, { headers, token: null }),
      await home.ask('GET', '/nowhere', { headers }),
    ];
    expect(answers.map((answer) => [answer.status, allowed(answer)])).toEqual(
      [200, 304, 401, 404].map((status) => [status, Origin]),
    );
  }
  const { vary } = (await home.ask('GET', '/alarms', { headers: { Origin: ORIGIN } })).headers;
  expect(vary?.split(', ').toSorted()).toEqual(['Accept', 'Origin']);
});

test('a preflight tells a web application what it may send', async ({ home, own }) => {
  const asks = 'Access-Control-Request-Method: PATCH\r\nConnection: close';
  // No request of the interface, and so not in its description.
  const preflight = async (origin: string) =>
    readAnswer(
      await rawText(
        home.gateway,
        `OPTIONS /care-homes HTTP/1.1\r\nHost: x\r\nOrigin: ${origin}\r\n${asks}\r\n\r\n`,
      ),
    );
  const permitted = await preflight(ORIGIN);
  expect([permitted.status, allowed(permitted)]).toEqual([204, ORIGIN]);
  expect(permitted.headers['access-control-allow-methods']).toContain('PATCH');
  const names = String(permitted.headers['access-control-allow-headers']).toLowerCase();
  for (const name of ['authorization', 'if-match', 'content-type']) expect(names).toContain(name);
  for (const origin of [`${ORIGIN}.evil.test`, 'null', `${ORIGIN}:444`]) {
    expect(allowed(await preflight(origin))).toBeUndefined();
    const answer = await home.ask('GET', '/care-homes', { headers: { Origin: origin } });
    expect([answer.status, allowed(answer)]).toEqual([200, undefined]);
  }
  // By default no origin may.
  const unset = await own.home();
  const answer = await unset.ask('GET', '/care-homes', { headers: { Origin: ORIGIN } });
  expect([allowed(answer), answer.headers.vary]).toEqual([undefined, undefined]);
});

test('behind a proxy that adds a path, a new resource is where its Location says', async ({
  own,
}) => {
  const url = 'https://proxy.example/gateway';
  const home = await own.home({ env: { GATEWAY_HTTP_PUBLIC_URL: `${url}/` } });
  for (const path of [
    '/care-homes',
    ...['rooms', 'groups', 'devices'].map((one) => `${home.path}/${one}`),
  ]) {
    const created = await home.must('POST', path, { json: { name: 'Nord' } });
    expect(created.headers.location).toBe(`${url}${path}/${created.id}`);
  }
  const document = await home.must('GET', '/openapi.json');
  const server = new URL(String(document.at('servers.0.url')), `${url}/openapi.json`);
  expect(server.href).toBe(`${url}/`);
  // The proxy may be on this machine.
  expect((await home.ask('GET', '/metrics', { token: null })).status).toBe(401);
  expect((await home.ask('GET', '/metrics')).status).toBe(200);
});

/** A valid body for each route with one. */
function bodyFor({ method, path }: Route, groupId: string): object | undefined {
  if (method === 'DELETE' || mustBeEmpty(path)) return undefined;
  if (path.endsWith('/test-alarm')) return { kind: 'fall' };
  if (path.endsWith('/drills')) return {};
  if (bodyIsOptional({ method, path })) return { note: 'x' };
  if (path.endsWith('/footage')) return { type: 'video', contentType: 'video/mp4' };
  if (path.endsWith('/rooms/:roomId/move')) return { targetGroupId: groupId };
  if (path.endsWith('/move')) return { targetRoomId: null };
  const grants = [{ location: '*', role: 'viewer' }];
  return path === '/access-tokens' ? { name: 'x', grants } : { name: 'x' };
}

test('while the store is away, a change is 503 with Retry-After, and reads go on', async ({
  own,
}) => {
  const redis = await own.redis();
  const proxy = await own.proxy(redis.socketPath);
  const output = { name: 'region', type: 'webhook', url: 'http://127.0.0.1:1/', topics: ['x'] };
  const outputs = [{ ...output, secret: 'a secret' }];
  const gateway = await own.gateway({
    env: { ...NO_LIMITS, GATEWAY_REDIS_URL: `redis://127.0.0.1:${proxy.port}` },
    config: { outputs, bridges: [{ name: 'region', url: 'mqtt://127.0.0.1:1' }] },
  });
  // An emptied store is a fault that somebody has to acknowledge.
  const lost = await own.homeAt(gateway);
  await lost.publish(await lost.device(), 'alarms', '{"kind":"fall"}');
  await gateway.stop();
  await redis.redis.flushall();
  // A bridge that is no longer configured.
  await gateway.start();
  await gateway.configure({ outputs });
  await gateway.reload();
  const home = await own.homeAt(gateway);
  const { askAt } = await furnished(home);
  const empty = await own.homeAt(gateway);
  const other = await home.group();
  const deletable = { roomId: await home.room(), groupId: other };
  proxy.cut();
  const changing = routesOf().filter(
    ({ method, path }) => method !== 'GET' && !SIGNED_PATHS.includes(path),
  );
  for (const route of changing) {
    const { method, path } = route;
    const own = {
      name: 'region',
      code: 'store-lost-data',
      ...(method === 'DELETE' && deletable),
      ...(method === 'DELETE' && path.endsWith(':locationId') && { locationId: empty.locationId }),
    };
    const answer = await askAt(route, { json: bodyFor(route, other) }, own);
    expect([method, path, answer.outcome]).toEqual([method, path, '503 store-unavailable']);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
  }
  const reads = new Map<string, number>();
  for (const route of getRoutes().filter(({ path }) => !SIGNED_PATHS.includes(path))) {
    const { status, headers } = await askAt(route);
    reads.set(route.path, status);
    if (status === 503) expect(Number(headers['retry-after']), route.path).toBeGreaterThan(0);
    else expect(status, route.path).toBeLessThan(500);
  }
  const [fromMemory, fromStore] = [
    ['/care-homes', '/care-homes/:locationId/devices', '/healthz', '/metrics'],
    ['/care-homes/:locationId/alarms', '/care-homes/:locationId/rejected', '/audit'],
  ];
  expect(fromMemory.map((path) => reads.get(path))).toEqual(fromMemory.map(() => 200));
  expect(fromStore.map((path) => reads.get(path))).toEqual(fromStore.map(() => 503));
  proxy.mend();
});
