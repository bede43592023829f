import { expect, it } from 'vitest';
import { z } from 'zod';
import { ADMIN_TOKEN } from '../../former/gateway/running-gateway.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { anOutput } from '../an-output.js';
import { failure, problemOf, rawExchange, rawText } from '../client.js';
import { basic } from '../footage/cameras.js';
import { startGateway, type TestGateway, useGateway } from '../harness.js';
import {
  bodyIsOptional,
  DEVICE_PATHS,
  fill,
  mustBeEmpty,
  type Route,
  routesOf,
  SIGNED_PATHS,
} from '../routes.js';

const redis = useRedis();
const running = useGateway(redis, { hasLostData: true });
const AUTHORIZED = `Authorization: Bearer ${ADMIN_TOKEN}`;

/** Creates one resource of each kind; returns their ids. */
async function knownIds(gateway: TestGateway): Promise<Record<string, string>> {
  const locationId = await gateway.createLocation();
  const deviceId = await gateway.createDevice(locationId);
  const placed = await gateway.placeInGroup(locationId, deviceId);
  return { locationId, deviceId, code: 'store-lost-data', ...placed };
}

/** Every path with the methods of its routes. */
function pathsOf(): Map<string, string[]> {
  const paths = new Map<string, string[]>();
  for (const { method, path } of routesOf()) {
    paths.set(path, [...(paths.get(path) ?? []), method]);
  }
  expect(paths.size).toBeGreaterThan(20);
  return paths;
}

function readingRoutes(): Route[] {
  return routesOf().filter(({ method }) => method === 'GET');
}

/** Routes whose answers end: a stream of events continues until its client leaves. */
function endingRoutes(): Route[] {
  return readingRoutes().filter(({ path }) => path !== '/events');
}

/** The methods of all routes, and one that no route has. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND'];

it('accepts its own methods, HEAD and OPTIONS only', async () => {
  const gateway = running();
  for (const [path, methods] of pathsOf()) {
    const allowed = [...methods, 'OPTIONS', ...(methods.includes('GET') ? ['HEAD'] : [])].sort();
    for (const method of METHODS) {
      if (allowed.includes(method)) continue;
      const answer = await gateway.call(method, fill(path));
      const allow = answer.headers.allow?.split(', ').sort();
      expect([method, path, answer.status, allow]).toEqual([method, path, 405, allowed]);
      if (method !== 'HEAD') expect(problemOf(answer).code).toBe('method-not-allowed');
    }
    const answer = await gateway.call('OPTIONS', fill(path));
    const allow = answer.headers.allow?.split(', ').sort();
    expect([path, answer.status, answer.text, allow]).toEqual([path, 204, '', allowed]);
  }
});

it('matches its exact path only', async () => {
  const gateway = running();
  const ids = await knownIds(gateway);
  const beside = [...pathsOf().keys()].flatMap((path) => {
    const filled = fill(path, ids);
    const doubled = filled.replace(/\/(?=[^/]*$)/, '//');
    return [`${filled}/`, `${filled}/x/y/z`, doubled];
  });
  for (const path of beside) {
    const answer = await gateway.admin('GET', path);
    expect(`${path} ${failure(answer)}`).toBe(`${path} 404 not-found`);
  }
});

it('answers 404 or 400 to a well-encoded text that is not an id', async () => {
  const gateway = running();
  for (const { method, path } of routesOf()) {
    for (const [parameter] of path.matchAll(/:\w+/g)) {
      for (const id of ['%2F..%2F', '__proto__']) {
        const answer = await gateway.admin(method, fill(path.replace(parameter, id)));
        // A signature or a device's credentials are checked before existence.
        const closed = [...SIGNED_PATHS, ...DEVICE_PATHS].includes(path) ? [401, 403] : [];
        expect([400, 404, ...closed], `${method} ${path} ${id}`).toContain(answer.status);
        problemOf(answer);
      }
    }
  }
});

it('ignores the body of a GET or DELETE', async () => {
  const gateway = running();
  const ids = await knownIds(gateway);
  const bodies = [
    { headers: { 'Content-Type': 'x/y', 'Content-Encoding': 'z' }, body: Buffer.from([0xff, 0]) },
    { headers: { 'Transfer-Encoding': 'chunked' }, body: 'x'.repeat(64 * 1024) },
  ];
  const routes = routesOf().filter(({ method }) => ['GET', 'DELETE'].includes(method));
  for (const { method, path } of routes) {
    // DELETE gets unknown ids, so that nothing is deleted.
    const filled = fill(path, method === 'GET' ? ids : { locationId: ids['locationId'] ?? '' });
    const { status } = await gateway.admin(method, filled);
    for (const body of bodies) {
      const answer = await gateway.admin(method, filled, body);
      expect(`${method} ${path} ${answer.status}`).toBe(`${method} ${path} ${status}`);
    }
  }
});

it('answers HTTP/1.0, and closes the connection', async () => {
  const gateway = running();
  const ids = await knownIds(gateway);
  for (const { path } of endingRoutes()) {
    const filled = fill(path, ids);
    const { status } = await gateway.admin('GET', filled);
    const answer = await rawExchange(
      gateway.port,
      `GET ${filled} HTTP/1.0\r\n${AUTHORIZED}\r\n\r\n`,
    );
    expect(`${path} ${answer.status}`).toBe(`${path} ${status}`);
  }
});

/** The number of requests that the gateway handles concurrently per connection. */
const AT_ONCE = 16;

it('answers pipelined requests in order', async () => {
  const gateway = running();
  const ids = await knownIds(gateway);
  // The answer at /mqtt ends its connection.
  const routes = endingRoutes().filter(({ path }) => path !== '/mqtt');
  const all = routes.map(({ path }) => fill(path, ids));
  for (let first = 0; first < all.length; first += AT_ONCE) {
    const paths = all.slice(first, first + AT_ONCE);
    const expected: [string, string][] = [];
    for (const path of paths) {
      const { status, headers } = await gateway.admin('GET', path);
      expected.push([String(status), headers['content-type'] ?? '']);
    }
    const requests = paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n${AUTHORIZED}\r\n`);
    const bytes = `${requests.join('\r\n')}Connection: close\r\n\r\n`;
    const received = await rawText(gateway.port, bytes);
    const heads = received.matchAll(/HTTP\/1\.1 (\d{3}) [\s\S]*?\r\ncontent-type: ([^\r]*)\r\n/gi);
    expect(Array.from(heads, ([, status, type]) => [status, type])).toEqual(expected);
  }
});

/** A valid body for each route with a JSON body. */
function bodyFor(path: string, otherGroupId: string): object {
  if (path.endsWith('/test-alarm')) return { kind: 'fall' };
  if (path.endsWith('/drills')) return {};
  if (bodyIsOptional({ method: 'POST', path })) return { note: 'x' };
  if (path.endsWith('/footage')) return { type: 'video', contentType: 'video/mp4' };
  if (path.endsWith('/rooms/:roomId/move')) return { targetGroupId: otherGroupId };
  if (path.endsWith('/move')) return { targetRoomId: null };
  const grants = [{ location: '*', role: 'viewer' }];
  return path === '/access-tokens' ? { name: 'x', grants } : { name: 'x' };
}

it('answers 503 with Retry-After to a change while the store is unreachable', async () => {
  const gateway = await startGateway(redis, {
    hasLostData: true,
    losesStore: true,
    environment: anOutput('region'),
  });
  const ids = await knownIds(gateway);
  const { locationId = '', deviceId = '' } = ids;
  const camera = await gateway.createCamera(locationId);
  const [emptyRoom, otherGroup] = [
    await gateway.createRoom(locationId),
    await gateway.createGroup(locationId),
  ];
  const token = { name: 'x', grants: [{ location: '*', role: 'viewer' }] };
  const created = await gateway.admin('POST', '/access-tokens', { json: token });
  const deletable = {
    locationId,
    deviceId,
    roomId: emptyRoom,
    groupId: otherGroup,
    name: 'region',
    tokenId: z.looseObject({ id: z.string() }).parse(created.json).id,
  };
  const emptyLocation = { locationId: await gateway.createLocation() };
  await gateway.missBridge(deletable.name);
  gateway.loseStore();
  const changing = routesOf().filter(
    ({ method, path }) => method !== 'GET' && !SIGNED_PATHS.includes(path),
  );
  for (const { method, path } of changing) {
    const isOwn = DEVICE_PATHS.includes(path);
    const deleted = path === '/care-homes/:locationId' ? emptyLocation : deletable;
    const filled = fill(path, {
      tokenId: deletable.tokenId,
      name: deletable.name,
      ...(method === 'DELETE' ? deleted : ids),
      ...(isOwn ? { deviceId: camera.id } : {}),
    });
    const answer = await gateway.admin(method, filled, {
      ...(method === 'DELETE' || mustBeEmpty(path) ? {} : { json: bodyFor(path, otherGroup) }),
      headers: isOwn ? basic(camera.id, camera.secret) : {},
    });
    expect(`${method} ${path} ${failure(answer)}`).toBe(`${method} ${path} 503 store-unavailable`);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
  }
  for (const { path } of readingRoutes()) {
    const answer = await gateway.admin('GET', fill(path, ids));
    if (answer.status !== 503) expect(answer.status, path).toBeLessThan(500);
    else expect(Number(answer.headers['retry-after']), path).toBeGreaterThan(0);
  }
});
